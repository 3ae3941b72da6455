import { createHook } from "node:async_hooks";
import { Session } from "node:inspector/promises";
import { setImmediate as turn } from "node:timers/promises";
import { Redlock } from "@quorlock/redlock";
import { Redis } from "ioredis";

// Counts of one lock alone, which do not depend on the machine: functions entered, and objects made by a cycle. The URLs of
// the masters are the arguments; the counts are printed as JSON.

export interface Entered {
  readonly functions: number;
  readonly files: number;
}

export interface Counts {
  readonly acquire: Entered;
  readonly release: Entered;
  /** In one acquire and release. */
  readonly promises: number;
  readonly timers: number;
}

const cycles = 20;
/** Where a master answers late a little more is done: the least of so many tries is what the lock itself needs. */
const tries = 10;
const clients = process.argv.slice(2).map((url) => new Redis(url));
const looker = clients.map((client) => client.duplicate());
const redlock = new Redlock(clients);

/** One cycle after the other; the last answers of each are waited for. */
async function cycle(resource: string): Promise<void> {
  const lock = await redlock.acquire(resource, 10_000);
  const { attempts } = await lock.release();
  await Promise.all(attempts);
}

async function madeIn(type: string): Promise<number> {
  let made = 0;
  const hook = createHook({
    init(_, its) {
      if (its === type) made += 1;
    },
  });
  hook.enable();
  for (let count = 0; count < cycles; count += 1) {
    const lock = await redlock.acquire("counted", 10_000);
    await lock.release();
  }
  hook.disable();
  return made / cycles;
}

/** Until all masters have the key, or none has it: then their answers are on their way, and heard in the next turns. */
async function until(resource: string, keys: number): Promise<void> {
  for (;;) {
    const found = await Promise.all(looker.map((redis) => redis.exists(resource)));
    if (found.filter(Boolean).length === keys) break;
  }
  for (let count = 0; count < 3; count += 1) await turn();
}

const session = new Session();
session.connect();
await session.post("Profiler.enable");

async function enteredBy(work: () => Promise<void>): Promise<Entered> {
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await session.post("Profiler.takePreciseCoverage");
  await work();
  const { result } = await session.post("Profiler.takePreciseCoverage");
  await session.post("Profiler.stopPreciseCoverage");
  const files = result
    .filter(({ url }) => url.includes("/packages/redlock/src/"))
    // (`__name` is of the tool that runs TypeScript here, and not in what is published.)
    .map(({ functions }) =>
      functions.filter(({ functionName, ranges }) => functionName !== "__name" && ranges[0]!.count > 0),
    )
    .map((entered) => entered.length)
    .filter((functions) => functions > 0);
  return { functions: files.reduce((sum, functions) => sum + functions, 0), files: files.length };
}

async function leastOf<T>(count: () => Promise<T>, sizeOf: (counted: T) => number): Promise<T> {
  const counted: T[] = [];
  for (let one = 0; one < tries; one += 1) counted.push(await count());
  return least(counted, sizeOf);
}

function least<T>(counted: readonly T[], sizeOf: (counted: T) => number): T {
  return counted.reduce((one, other) => (sizeOf(other) < sizeOf(one) ? other : one));
}

for (let count = 0; count < 200; count += 1) await cycle("warm");
const promises = await leastOf(() => madeIn("PROMISE"), Number);
const timers = await leastOf(() => madeIn("Timeout"), Number);
const sizeOf = ({ functions }: Entered): number => functions;
const entered = async (): Promise<Pick<Counts, "acquire" | "release">> => {
  await cycle("warm");
  let held: Awaited<ReturnType<Redlock["acquire"]>>;
  const acquire = await enteredBy(async () => {
    held = await redlock.acquire("one", 10_000);
    await until("one", clients.length);
  });
  const release = await enteredBy(async () => {
    await held.release();
    await until("one", 0);
  });
  return { acquire, release };
};
const roads: Awaited<ReturnType<typeof entered>>[] = [];
for (let one = 0; one < tries; one += 1) roads.push(await entered());
const acquire = least(
  roads.map((road) => road.acquire),
  sizeOf,
);
const release = least(
  roads.map((road) => road.release),
  sizeOf,
);
process.stdout.write(JSON.stringify({ acquire, release, promises, timers } satisfies Counts));
session.disconnect();
await redlock.quit();
for (const redis of looker) redis.disconnect();
