import { setTimeout as pause } from "node:timers/promises";
import type { Lock } from "@quorlock/redlock";
import { within } from "@quorlock/simulation/processes";
import { type ContenderTerms, closeClients, openClients } from "../contenders/contender.ts";
import { before } from "../contenders/lineup.ts";
import { built, builtBefore } from "../contenders/ours.ts";
import { sendToParent, task } from "./child.ts";

// Requests many leases in one turn of the event loop, as a service does after a restart. Each is held in `using` until the
// program stops. The results are counted from outside: by `remaining()`, signals, rejections and events.

export interface ManyTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  /** Prefix of the resource names. */
  readonly prefix: string;
  readonly count: number;
}

/** The results of leases that were requested in one turn. */
export interface Counted {
  readonly kind: "counted";
  /** Until every request was granted or refused, ms. */
  readonly milliseconds: number;
  /** Leases held at the end. */
  readonly held: number;
  readonly lost: number;
  readonly refused: number;
  /** The latest extension: the longest part of a ttl that had passed when it was confirmed, ms. */
  readonly latest: number;
  /** Error events during the requests and while holding, and during `quit`. */
  readonly errors: number;
  readonly quitErrors: number;
  /** Events of both with reason `UNREACHABLE`. */
  readonly unreachable: number;
  /** Duration of `quit`, ms. */
  readonly quit: number;
}

/** Time limit for the requests, ms; the run continues without those still open, so a client that stalls is measured too. */
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

/** The measurement does not include the first calls. */
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
/** The minimum remaining time of any lease so far, ms. */
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
// (The signals of released leases abort as well; those do not count as lost, so the figures are taken before.)
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
await sendToParent(counted);
process.exit();
