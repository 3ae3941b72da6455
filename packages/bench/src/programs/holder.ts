import { setTimeout as pause } from "node:timers/promises";
import type { Redlock } from "@quorlock/redlock";
import { openClients } from "../contenders/contender.ts";
import { built } from "../contenders/ours.ts";
import { heapInUse } from "../measure/meter.ts";
import { task, tell } from "./child.ts";

// What very many locks take of the heap, in a process in which there is nothing else.

export interface HolderTask {
  readonly urls: readonly string[];
  /** Longer than all of it takes, ms. */
  readonly ttl: number;
  readonly prefix: string;
  readonly count: number;
  /**
   * `held`: by `acquire`, each object kept. `using`: each in its routine. `waits`: calls of `acquire` for one resource that
   * somebody else holds. `waits-alone`: the same, each for a resource of its own. `cycles`: acquired and released.
   */
  readonly what: "held" | "using" | "waits" | "waits-alone" | "cycles";
}

export interface Weighed {
  readonly kind: "weighed";
  /** Bytes of heap in use for each. */
  readonly bytes: number;
  /** Of `using`: what its caller's routine takes of it, by the same calls of what locks nothing. The abort signal is ours. */
  readonly callers: number;
}

/** So many are acquired at a time. */
const chains = 100;
const warmUps = 500;
/** What is asked of the masters for a new waiter has been answered by then, ms. */
const settlingTime = 3000;

const { urls, ttl, prefix, count, what } = task() as HolderTask;

/** What whoever holds waits for. Exported, so that it is kept, and with it all that waits for it. */
export const never: Promise<void> = new Promise(() => {});
/** What a caller has in its hands. Its slots are there before anything is weighed, and so are the names. */
export const kept: unknown[] = Array.from({ length: count }, () => undefined);
const names = Array.from({ length: count }, (_, index) => `${prefix}:${index}`);

async function redlockOf(): Promise<Redlock> {
  return new built.Redlock(await openClients(urls), { waitTimeout: ttl });
}

/** Calls `one` for each of `list`, so many at a time. */
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

/** Resolves when the routine runs, which never ends. */
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
      // Each rejects when this process ends, at the latest.
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
await tell(weighed);
process.exit();
