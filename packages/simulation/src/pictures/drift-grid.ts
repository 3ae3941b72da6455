import type { Plan } from "../plan/plan.ts";
import { Random } from "../random.ts";
import { runPlan } from "../run/run-plan.ts";

/** The measurement: a number of runs for each drift and each ttl. */
export interface DriftGrid {
  /** How far apart the rates of any two clocks may be, per cent. */
  readonly drifts: readonly number[];
  /** ms */
  readonly ttls: readonly number[];
  readonly seeds: number;
  /** The drift that the client allows for. */
  readonly driftFactor: number;
}

export interface DriftCell {
  readonly drift: number;
  readonly ttl: number;
  readonly runs: number;
  readonly violated: number;
  /** ms; infinite where no lock was granted. */
  readonly leastMargin: number;
}

/** One cell after the other: by ttl, then by drift. `undefined` stands for each run, so that a caller can stop behind any. */
export async function* measureDrift(grid: DriftGrid): AsyncGenerator<DriftCell | undefined, void, void> {
  const { drifts, ttls, seeds, driftFactor } = grid;
  for (const ttl of ttls) {
    for (const drift of drifts) {
      let violated = 0;
      let leastMargin = Number.POSITIVE_INFINITY;
      for (let seed = 1; seed <= seeds; seed += 1) {
        const outcome = await runPlan(driftPlan(seed, drift, ttl, driftFactor));
        if (outcome.verdict === "violated") violated += 1;
        leastMargin = Math.min(leastMargin, outcome.leastMargin);
        yield undefined;
      }
      yield { drift, ttl, runs: seeds, violated, leastMargin };
    }
  }
}

/**
 * Nothing goes wrong but the rates of clocks: each is at one end of the range, at the other, or anywhere between.
 * Clients hold their locks to the very end, and others wait for it.
 */
export function driftPlan(seed: number, drift: number, ttl: number, driftFactor: number): Plan {
  const random = new Random(seed, "drift");
  const bound = (drift * 10_000) / 2;
  const clock = (): { offset: number; rate: number } => ({
    offset: Math.round(random.between(-1000, 1000)),
    rate: random.pick([-bound, bound, random.between(-bound, bound)]),
  });
  return {
    version: 1,
    seed,
    duration: 20 * ttl,
    masters: Array.from({ length: 5 }, () => ({ ...clock(), persistence: { mode: "aof-always" } })),
    clients: Array.from({ length: 3 }, () => ({ ...clock(), timerLateness: 0 })),
    network: {
      latency: { shape: "log-normal", median: 0.3, sigma: 0.4 },
      longestLatency: ttl / 10,
      reconnectDelay: 10,
    },
    settings: {
      ttl,
      driftFactor,
      nodeTimeout: Math.max(5, Math.round(ttl / 20)),
      retryCount: 100,
      retryDelay: Math.max(1, Math.round(ttl / 50)),
      retryJitter: Math.max(1, Math.round(ttl / 100)),
      automaticExtensionThreshold: Math.round(ttl / 4),
    },
    workload: {
      resources: 1,
      hold: 0.9 * ttl,
      think: 0.05 * ttl,
      styles: { acquire: 1, try: 0, extend: 1, using: 1, abandon: 2, abort: 0, several: 0 },
    },
    faults: [],
  };
}
