import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { openClients } from "../contenders/contender.ts";
import { built } from "../contenders/ours.ts";
import { heapInUse } from "../measure/meter.ts";
import { sendToParent, task } from "./child.ts";

// Measures the heap that many locks take, in a process that does nothing else.

export interface HolderTask {
  readonly urls: readonly string[];
  /** Longer than the whole measurement takes, ms. */
  readonly ttl: number;
  readonly prefix: string;
  readonly count: number;
  /**
   * `held`: leases from `acquire`, whose objects are kept. `using`: routines of `using` that are running. `waits`: calls of
   * `acquire` for one resource that a rival holds. `waits-alone`: the same, each for its own resource. `cycles`: acquired
   * and released.
   */
  readonly what: "held" | "using" | "waits" | "waits-alone" | "cycles";
}

export interface Weighed {
  readonly kind: "weighed";
  /** Bytes of heap in use per lock. */
  readonly bytes: number;
  /** The part that the caller's routine of `using` takes, measured without locking; it excludes the abort signal. */
  readonly callers: number;
}

/** Acquires in flight at a time. */
const chains = 100;
const warmUps = 500;
/** Time after which the masters have answered all commands of new waiters, ms. */
const settlingTime = 3000;

const { urls, ttl, prefix, count, what } = task() as HolderTask;

/** Every holder's routine awaits this promise. The export keeps it alive, and with it the routines. */
export const never: Promise<void> = new Promise(() => {});
/** The objects that callers keep. The array and the names are allocated before the first measurement. */
export const kept: unknown[] = Array.from({ length: count }, () => undefined);
const names = Array.from({ length: count }, (_, index) => `${prefix}:${index}`);

async function redlockOf(): Promise<Redlock> {
  return new built.Redlock(await openClients(urls), { waitTimeout: ttl });
}

/** Calls `one` for each of `list`, {@link chains} at a time. */
async function each(
  list: readonly string[],
  one: (name: string, index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const chain = async (): Promise<void> => {
    for (let index = next; index < list.length; index = next) {
      next += 1;
      await one(list[index]!, index);
    }
  };
  await Promise.all(Array.from({ length: chains }, chain));
}

const redlock = await redlockOf();

async function cycle(name: string): Promise<void> {
  const lock = await redlock.acquire(name, ttl);
  await lock.release();
}

/** Resolves when the routine starts; the routine never ends. */
function held(using: (routine: () => Promise<void>) => Promise<unknown>): Promise<void> {
  return new Promise((isHeld, failed) => {
    using(() => {
      isHeld();
      return never;
    }).catch(failed);
  });
}

/** Locks nothing. */
async function usingNothing(routine: () => Promise<void>): Promise<void> {
  await routine();
}

async function weigh(fill: () => Promise<void>): Promise<number> {
  const before = await heapInUse();
  await fill();
  return ((await heapInUse()) - before) / count;
}

async function waitFor(resources: readonly string[]): Promise<number> {
  const holder = await redlockOf();
  await each([...new Set(resources)], async (name) => {
    await holder.acquire(name, ttl);
  });
  return await weigh(async () => {
    for (const [index, name] of resources.entries()) {
      const waiting = redlock.acquire(name, ttl);
      // It may reject while this process ends.
      waiting.catch(() => {});
      kept[index] = waiting;
    }
    await pause(settlingTime);
  });
}

async function bytesOf(): Promise<number> {
  if (what === "waits") return await waitFor(names.map(() => prefix));
  if (what === "waits-alone") return await waitFor(names);
  if (what === "cycles") return await weigh(() => each(names, cycle));
  if (what === "using")
    return await weigh(() => each(names, (name) => held((routine) => redlock.using(name, ttl, routine))));
  return await weigh(() =>
    each(names, async (name, index) => {
      kept[index] = await redlock.acquire(name, ttl);
    }),
  );
}

await each(
  Array.from({ length: warmUps }, (_, index) => `${prefix}:warm-up:${index}`),
  cycle,
);
const callers = what === "using" ? await weigh(() => each(names, () => held(usingNothing))) : 0;
const weighed: Weighed = { kind: "weighed", bytes: await bytesOf(), callers };
await sendToParent(weighed);
process.exit();
