import type { Observation, Reading } from "./observe.ts";

// Numbers from the round trips that were measured: the rate of a clock, and the settings that suit these masters.

/** The client's defaults: `nodeTimeout` is a twentieth of the ttl, within these, ms. */
export const shortestNodeTimeout = 50;
export const longestNodeTimeout = 500;
const defaultDriftFactor = 0.01;

export interface Settings {
  /** Milliseconds. */
  readonly nodeTimeout: number;
  /** The shortest ttl to use, ms. */
  readonly ttl: number;
  readonly driftFactor: number;
}

/** How much faster than this machine's clock a master's runs, as a fraction; and how far off that may be. */
export interface Rate {
  readonly excess: number;
  readonly uncertainty: number;
}

/** By the first and the last reading; none without two. */
export function rateOf(readings: readonly Reading[]): Rate | undefined {
  const [first, last] = [readings[0], readings.at(-1)];
  if (!first || !last || last.at <= first.at) return undefined;
  const elapsed = last.at - first.at;
  return {
    excess: (last.time - first.time) / elapsed - 1,
    uncertainty: (first.roundTrip + last.roundTrip) / 2 / elapsed,
  };
}

/** By how much the rate differs from this machine's at least. */
export function surelyOff({ excess, uncertainty }: Rate): number {
  return Math.max(0, Math.abs(excess) - uncertainty);
}

export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

export function roundTripsOf({ readings }: Observation): readonly number[] {
  return readings.map(({ roundTrip }) => roundTrip);
}

/** Undefined if no master has told its time. */
export function settingsFor(all: readonly Observation[]): Settings | undefined {
  const measured = all.filter(({ readings }) => readings.length > 0);
  if (measured.length === 0) return undefined;
  // Ten usual round trips, three of the slowest ones, and a connection that is opened first: whichever is longest.
  const needed = measured.flatMap((one) => [
    10 * median(roundTripsOf(one)),
    3 * Math.max(...roundTripsOf(one)),
    one.firstAnswer ?? 0,
  ]);
  const nodeTimeout = upTo(50, Math.max(shortestNodeTimeout, ...needed));
  const rates = measured.flatMap(({ readings }) => rateOf(readings) ?? []);
  const wrong = rates.filter((rate) => surelyOff(rate) > defaultDriftFactor);
  const drifts = wrong.map(({ excess, uncertainty }) => Math.abs(excess) + uncertainty);
  const driftFactor = Math.min(0.5, upTo(0.01, Math.max(defaultDriftFactor, ...drifts)));
  // The ttl of which this nodeTimeout is the client's own default, a twentieth.
  return { nodeTimeout, ttl: 20 * nodeTimeout, driftFactor };
}

function upTo(step: number, value: number): number {
  return Number((Math.ceil(Number((value / step).toFixed(6))) * step).toFixed(2));
}
