import { within } from "@quorlock/simulation/processes";
import { acquireAndRelease, type Contender } from "../contenders/contender.ts";
import type { Scale } from "../workload.ts";
import type { Column } from "./rounds.ts";
import { alternate } from "./statistics.ts";

/** Callers in this process, each with its own resource, so without contention. */
export interface Load {
  readonly callers: number;
  /** Callers start new locks for this long, ms, */
  readonly milliseconds: number;
  /** and until they have done this many; default 0. */
  readonly atLeast?: number;
  /** Prefix of the resource names. */
  readonly prefix: string;
}

export interface LoadResult {
  /** Locks acquired and released. */
  readonly cycles: number;
  /** Acquires and releases that were rejected. */
  readonly failures: number;
  /** Until the last lock is released. */
  readonly seconds: number;
  /** From each call of `acquire` to its lock, ms. */
  readonly waits: readonly number[];
}

/** Time limit for the locks in flight when the time is up, ms. */
const settleLimit = 30_000;

/** Lets each caller acquire and release, over and over. */
export async function runLoad(contender: Contender, load: Load): Promise<LoadResult> {
  const waits: number[] = [];
  let cycles = 0;
  let failures = 0;
  const begun = performance.now();
  const end = begun + load.milliseconds;
  const { atLeast = 0 } = load;
  const call = async (resource: string): Promise<void> => {
    while (performance.now() < end || cycles + failures < atLeast) {
      const called = performance.now();
      try {
        const release = await contender.acquire(resource);
        waits.push(performance.now() - called);
        await release();
        cycles += 1;
      } catch {
        failures += 1;
      }
    }
  };
  const callers = Array.from({ length: load.callers }, (_, caller) =>
    call(`${load.prefix}:${contender.name}:${caller}`),
  );
  await within(Promise.all(callers), load.milliseconds + settleLimit, `${contender.name} did not settle`);
  return { cycles, failures, seconds: (performance.now() - begun) / 1000, waits };
}

/** Locks after which the compiler has optimised every contender; the number is the same for all. */
const warmUpCycles = { all: 4000, quick: 1600 } as const;

/**
 * Before the measurement each contender runs the load that it is measured under. Contenders alternate, with a quarter of
 * the locks per turn: code that runs hot in several turns is compiled better.
 */
export async function warmUp(
  contenders: readonly Contender[],
  callers: number,
  { quick }: Pick<Scale, "quick">,
): Promise<void> {
  const atLeast = warmUpCycles[quick ? "quick" : "all"] / 4;
  await alternate(contenders, 4, (contender) =>
    runLoad(contender, { callers, milliseconds: 0, atLeast, prefix: "warm-up" }),
  );
}

/** The duration of `count` locks, one after the other, ms. */
export async function timeOf(contender: Contender, resource: string, count: number): Promise<number> {
  const begun = performance.now();
  for (let index = 0; index < count; index += 1) await acquireAndRelease(contender, resource);
  return performance.now() - begun;
}

export type LoadQuantity = "rate" | "clientCpu" | "serverCpu" | "p50" | "p99" | "failures";

export const loadColumns: readonly Column<LoadQuantity>[] = [
  { quantity: "rate", title: "acquire+release a second" },
  { quantity: "p50", title: "wait p50 ms" },
  { quantity: "p99", title: "p99 ms" },
  { quantity: "clientCpu", title: "client CPU us" },
  { quantity: "serverCpu", title: "server CPU us" },
  { quantity: "failures", title: "failed" },
];

/** Explains the columns. */
export const loadNote = "CPU is per acquire and release, of all masters together; failed: of a round.";

/** Seven rounds are enough for a median with a confidence interval; three are for a quick look. */
export function roundsOf(scale: Scale): number {
  return scale.quick ? 3 : 7;
}
