import type { Contender, Release } from "../contenders/contender.ts";
import { within } from "./within.ts";

/** Callers in this process, each with locks of its own: nobody contends. */
export interface Load {
  readonly callers: number;
  /** How long new locks are begun, ms. */
  readonly milliseconds: number;
  /** And for as long as they are not so many; default 0. */
  readonly atLeast?: number;
  /** Resources in each lock; default 1. */
  readonly resourcesEach?: number;
  /** What the names of the resources begin with. */
  readonly prefix: string;
}

export interface LoadResult {
  /** Locks acquired and released. */
  readonly cycles: number;
  /** Acquires and releases that were rejected. */
  readonly failures: number;
  /** Until the last one was done. */
  readonly seconds: number;
  /** From each call of `acquire` to its lock, ms. */
  readonly waits: readonly number[];
}

/** What begun locks may take to come to an end after the time is up, ms. */
const patience = 30_000;

/** Lets each caller acquire and release, over and over. */
export async function runLoad(contender: Contender, load: Load): Promise<LoadResult> {
  const waits: number[] = [];
  let cycles = 0;
  let failures = 0;
  const begun = performance.now();
  const end = begun + load.milliseconds;
  const { atLeast = 0 } = load;
  const call = async (acquire: () => Promise<Release>): Promise<void> => {
    while (performance.now() < end || cycles + failures < atLeast) {
      const called = performance.now();
      try {
        const release = await acquire();
        waits.push(performance.now() - called);
        await release();
        cycles += 1;
      } catch {
        failures += 1;
      }
    }
  };
  const callers = Array.from({ length: load.callers }, (_, caller) =>
    call(acquirerOf(contender, load, caller)),
  );
  await within(Promise.all(callers), load.milliseconds + patience, `${contender.name} did not settle`);
  return { cycles, failures, seconds: (performance.now() - begun) / 1000, waits };
}

function acquirerOf(contender: Contender, load: Load, caller: number): () => Promise<Release> {
  const name = `${load.prefix}:${contender.name}:${caller}`;
  const { resourcesEach = 1 } = load;
  if (resourcesEach === 1) return () => contender.acquire(name);
  const resources = Array.from({ length: resourcesEach }, (_, index) => `${name}:${index}`);
  return () => contender.acquireAll(resources);
}
