import { setTimeout as pause } from "node:timers/promises";
import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";
import { schedulers } from "./schedulers.ts";

// One instance of a service that has a job of every second: what it does it reports to its parent.

export type Report =
  /** Its schedulers have started; `clock`: by its own wall clock, ms since the epoch. */
  | { readonly kind: "started"; readonly clock: number }
  /** It runs the job of this tick, an ISO time. */
  | { readonly kind: "runs"; readonly scheduler: string; readonly at: string }
  /** As ordered: nothing of it is under way, and no tick is near. */
  | { readonly kind: "idle" };

/** Of a second, ms: no tick is near. */
const [middleFrom, middleTo] = [300, 600];
/** How long a job takes, ms. */
const work = 30;

let running = 0;
const tell = (report: Report): void => void process.send?.(report);

function isBetweenTicks(): boolean {
  const part = Date.now() % 1000;
  return running === 0 && part > middleFrom && part < middleTo;
}

async function sayWhenIdle(): Promise<void> {
  while (!isBetweenTicks()) await pause(10);
  tell({ kind: "idle" });
}

const [names = "", ...urls] = process.argv.slice(2);
const redlock = new Redlock(urls.map((url) => new Redis(url)));
for (const scheduler of names.split(",")) {
  await schedulers[scheduler]!(redlock, async (at) => {
    running += 1;
    tell({ kind: "runs", scheduler, at: at.toISOString() });
    await pause(work);
    running -= 1;
  });
}
// The parent orders nothing else than to say when it is idle.
process.on("message", () => void sayWhenIdle());
tell({ kind: "started", clock: Date.now() });
