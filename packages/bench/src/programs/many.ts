import { setTimeout as pause } from "node:timers/promises";
import type { Lock } from "@quorlock/redlock";
import { type ContenderTerms, closeClients, openClients } from "../contenders/contender.ts";
import { before } from "../contenders/lineup.ts";
import { built, builtBefore } from "../contenders/ours.ts";
import { task, tell, within } from "./child.ts";

// Asks for very many leases in one turn, as a service does that comes back: each in `using`, for as long as the program
// says. What becomes of them is counted from outside: by what `remaining()` says, by signals, rejections and events.

export interface ManyTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  /** What the names of the resources begin with. */
  readonly prefix: string;
  readonly count: number;
}

/** What became of leases that were asked for in one turn. */
export interface Counted {
  readonly kind: "counted";
  /** Until each was held or refused, ms. */
  readonly milliseconds: number;
  /** At the end. */
  readonly held: number;
  readonly lost: number;
  readonly refused: number;
  /** What had passed of a ttl at most when an extension was confirmed, ms. */
  readonly latest: number;
  /** Events while they were asked for and held, and while `quit` gave them back. */
  readonly errors: number;
  readonly quitErrors: number;
  /** Of both, those that tell of a master that could not be reached. */
  readonly unreachable: number;
  /** How long that took, ms. */
  readonly quit: number;
}

/** What is not held or refused by then is left as it is, ms: a client that comes to no end is measured as well. */
const decideLimit = 15_000;
const quitLimit = 60_000;
const warmUps = 200;
/** Each lease is extended at least once in this part of the ttl. */
const watchFraction = 0.45;
const shortestWatch = 3000;

const { contender, terms, prefix, count } = task() as ManyTask;
const { urls, ttl } = terms;
const client = contender === before ? await builtBefore() : built;
const clients = await openClients(urls);
const redlock = new client!.Redlock(clients);

/** Nothing of what is measured is the first of its kind. */
async function warmUp(): Promise<void> {
  const names = Array.from({ length: warmUps }, (_, index) => `${prefix}:warm-up:${index}`);
  await Promise.all(names.map((name) => redlock.using(name, 10_000, () => pause(50))));
}

const held = new Set<Lock>();
let errors = 0;
let unreachable = 0;
let lost = 0;
let refused = 0;
let decided = 0;
/** The least that was ever left of a lease. */
let leastLeft = ttl;
let stop = (): void => {};
const stopped = new Promise<void>((resolve) => {
  stop = resolve;
});

function hold(signal: AbortSignal, lock: Lock): Promise<void> {
  decided += 1;
  held.add(lock);
  signal.addEventListener("abort", () => {
    held.delete(lock);
    lost += 1;
  });
  return stopped;
}

function look(): void {
  for (const lock of held) leastLeft = Math.min(leastLeft, lock.remaining());
}

await warmUp();
redlock.on("error", ({ reason }) => {
  errors += 1;
  if (reason === "UNREACHABLE") unreachable += 1;
});
const looking = setInterval(look, Math.max(50, ttl / 20));
const begun = performance.now();
for (let index = 0; index < count; index += 1) {
  redlock.using(`${prefix}:${index}`, ttl, hold).catch(() => {
    decided += 1;
    refused += 1;
  });
}
const areDecided = (): boolean => decided >= count;
while (!areDecided() && performance.now() - begun < decideLimit) await pause(20);
const milliseconds = performance.now() - begun;
await pause(Math.max(shortestWatch, ttl * watchFraction));
clearInterval(looking);
const figures = { held: held.size, lost, refused, errors, latest: ttl - leastLeft };
stop();
const quitting = performance.now();
// (Its signals abort as well: those are not lost.)
await within(redlock.quit(), quitLimit, "quit did not settle");
const counted: Counted = {
  kind: "counted",
  ...figures,
  milliseconds,
  quitErrors: errors - figures.errors,
  unreachable,
  quit: performance.now() - quitting,
};
closeClients(clients);
await tell(counted);
process.exit();
