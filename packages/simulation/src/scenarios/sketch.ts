import type { Persistence } from "../master/durability.ts";
import type { Fault, FaultKind } from "../plan/fault.ts";
import type { LockSettings, Plan, ScriptedTask } from "../plan/plan.ts";
import { Random } from "../random.ts";

/** The differences between the plans of scenarios; everything else has defaults. */
export interface Sketch {
  /** The tasks of each client. */
  readonly script: ReadonlyArray<readonly ScriptedTask[]>;
  readonly faults: readonly Fault[];
  /** How many; default 5. They are called A, B, C and so on. */
  readonly masters?: number;
  readonly persistence?: Persistence;
  /** Whether all wall clocks show the same time. Default: they are anywhere. */
  readonly areClocksSynced?: boolean;
  /** By number, in ppm; default 0. */
  readonly masterRates?: readonly number[];
  readonly clientRates?: readonly number[];
  readonly settings?: Partial<LockSettings>;
  /** Default 5,000 ms. */
  readonly duration?: number;
}

/** Of every scenario, ms. */
export const ttl = 2000;

const defaults: LockSettings = {
  ttl,
  driftFactor: 0.01,
  nodeTimeout: 100,
  retryCount: 40,
  retryDelay: 50,
  retryJitter: 20,
  automaticExtensionThreshold: 1000,
};

/** Masters of the scenarios, by the names that the stories give them. */
export const A = 0;
export const B = 1;
export const C = 2;
export const D = 3;
export const E = 4;

/** A plan of one kind for each seed: about 1 ms to each master, and wall clocks that are anywhere. */
export function sketched(sketch: Sketch): (seed: number) => Plan {
  return (seed) => {
    const random = new Random(seed, "scenario");
    const { script, faults, masters = 5, duration = 5000, settings } = sketch;
    const { persistence = { mode: "aof-always" }, masterRates = [], clientRates = [] } = sketch;
    const offset = (): number => (sketch.areClocksSynced ? 0 : Math.round(random.between(-100_000, 100_000)));
    return {
      version: 1,
      seed,
      duration,
      masters: Array.from({ length: masters }, (_, index) => ({
        offset: offset(),
        rate: masterRates[index] ?? 0,
        persistence,
      })),
      clients: script.map((_, index) => ({
        offset: offset(),
        rate: clientRates[index] ?? 0,
        timerLateness: 0.1,
      })),
      network: {
        latency: { shape: "log-normal", median: 1, sigma: 0.3 },
        longestLatency: 50,
        reconnectDelay: 10,
      },
      settings: { ...defaults, ...settings },
      workload: { resources: 1, hold: 0, think: 0, styles: nothingDrawn, script },
      faults,
    };
  };
}

const nothingDrawn = { acquire: 1, try: 0, extend: 0, using: 0, abandon: 0, abort: 0, several: 0 };

/**
 * A client's way to these masters is cut, both ways, from before it asks for anything; later all comes through. (If that
 * is from 0 on, the client connects only then.)
 */
export function cutOff(client: number, masters: readonly number[], duration: number, at = 8): Fault {
  return { at, kind: "cut", clients: [client], masters, direction: "both", duration, ending: "heal" };
}

/** A fault that comes `after` ms after client 0 has the lock. */
export function onceHeld(after: number, kind: FaultKind): Fault {
  return { on: "granted", occurrence: 1, client: 0, after, ...kind };
}

/** One use of the lock, with a look and a write every `hold / looks` ms. */
export function use(
  at: number,
  hold: number,
  looks: number,
  way: ScriptedTask["do"] = "acquire",
): ScriptedTask {
  return { at, do: way, resource: 0, hold, looks };
}
