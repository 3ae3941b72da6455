import { acquireAndRelease, type Contender } from "../contenders/contender.ts";
import type { Lineup } from "../contenders/lineup.ts";
import { within } from "../programs/child.ts";
import type { Scale } from "../workload.ts";
import { Meter } from "./meter.ts";
import type { Column, Rounds } from "./rounds.ts";
import { alternate, quantile } from "./statistics.ts";

/** Callers in this process, each with a lock of its own: nobody contends. */
export interface Load {
  readonly callers: number;
  /** How long new locks are begun, ms. */
  readonly milliseconds: number;
  /** And for as long as they are not so many; default 0. */
  readonly atLeast?: number;
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
  await within(Promise.all(callers), load.milliseconds + patience, `${contender.name} did not settle`);
  return { cycles, failures, seconds: (performance.now() - begun) / 1000, waits };
}

/** The compiler is done with every contender after so many locks; the rule is the same for all. */
const warmUpCycles = { all: 4000, quick: 1600 } as const;

/**
 * Before anything counts, each contender carries the load that it will be measured under, for so many locks, in turns
 * of a fourth: what was seen to run often in several goes is compiled better.
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

/** How long so many, one after the other, took, ms. */
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

/** What a reader of these columns must know. */
export const loadNote = "CPU is per acquire and release, of all masters together; failed: of a round.";

/** At least five, so that a median is one. */
export function roundsOf(scale: Scale): number {
  return scale.quick ? 3 : 7;
}

/** Puts the same load on each contender, in turn, round after round. */
export async function compareLoads(
  lineup: Lineup,
  urls: readonly string[],
  scale: Scale,
  load: Omit<Load, "milliseconds">,
): Promise<Rounds<LoadQuantity>> {
  await using meter = await Meter.open(urls);
  await warmUp(lineup.contenders, load.callers, scale);
  const timed: Load = { ...load, milliseconds: scale.quick ? 150 : 400 };
  const turns = await alternate(lineup.contenders, roundsOf(scale), (contender) =>
    measuredTurn(contender, meter, timed),
  );
  return new Map([...turns].map(([{ name }, measured]) => [name, measured]));
}

async function measuredTurn(
  contender: Contender,
  meter: Meter,
  load: Load,
): Promise<Record<LoadQuantity, number>> {
  const { result, clientCpu, serverCpu } = await meter.measure(() => runLoad(contender, load));
  const waits = result.waits.toSorted((a, b) => a - b);
  return {
    rate: result.cycles / result.seconds,
    clientCpu: clientCpu / result.cycles,
    serverCpu: serverCpu / result.cycles,
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    failures: result.failures,
  };
}
