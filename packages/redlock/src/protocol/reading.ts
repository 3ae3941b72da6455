// A client's knowledge of a master's clock, for the order of tickets (PROTOCOL 7.2), the clock watch (11.1), and the votes
// that are judged by it (11.4).

/** Both clocks of this client, ms. */
export interface Moment {
  readonly monotonic: number;
  readonly wall: number;
}

/** A master's clock, read over the network: its offset from each of our two clocks. */
export interface Reading {
  readonly is: "reading";
  readonly sent: Moment;
  readonly heard: Moment;
  readonly ofMonotonic: number;
  readonly ofWall: number;
  readonly uncertainty: number;
}

/** The readings of a master's clock. */
export interface ClockReadings {
  /** The most exact reading; `undefined` if one of our own clocks has leapt since. */
  readonly best: Reading | undefined;
  /** Calls `listener` with each reading, for as long as its owner keeps a reference to it. */
  onReading(listener: (reading: Reading) => void): void;
}

/** Judges one master by its clock, of which it hears every reading (PROTOCOL 11). */
export interface ClockJudge {
  readonly node: string;
  /** Whether a vote counts only after a reading of the clock behind it has been judged. */
  readonly judgesVotes: boolean;
  /** Two clocks agree if they differ by at most this, ms. */
  readonly maxOffset: number;
  /** Whether a key may have expired early because the clock stepped, while its holder still counts on it. */
  readonly hasSteppedLately: boolean;
  /** Records that a lock of this ttl is requested, ms. */
  askedFor(ttl: number): void;
  /** Records that keys of the master may have expired early. */
  distrust(): void;
}

/** The resolution of the local wall clock, ms. */
const wallResolution = 1;
/** Clocks of two machines drift apart by less than this part of the time. */
const drift = 1e-4;
/** If our wall clock and our monotonic clock differ by this much more than before, one has leapt, ms. */
const leapThreshold = 50;

/** The elapsed time, ms, by the clock that shows more: the other was set back or was suspended. */
export function elapsed(from: Moment, to: Moment): number {
  return Math.max(to.monotonic - from.monotonic, to.wall - from.wall);
}

/** Whether one of our own clocks was set between the two, or stood still. */
export function hasLeapt(from: Moment, to: Moment): boolean {
  return Math.abs(to.wall - to.monotonic - (from.wall - from.monotonic)) > leapThreshold;
}

/** `time`: the master's clock at some moment between the two, ms. */
export function readingOf(sent: Moment, heard: Moment, time: number): Reading {
  const half = (heard.monotonic - sent.monotonic) / 2;
  return {
    is: "reading",
    sent,
    heard,
    ofMonotonic: time - (sent.monotonic + half),
    ofWall: time - (sent.wall + heard.wall) / 2,
    uncertainty: elapsed(sent, heard) / 2 + wallResolution,
  };
}

/** By how much it may be wrong at a later time by the monotonic clock, ms. */
export function uncertaintyAt({ uncertainty, heard }: Reading, time: number): number {
  return uncertainty + (time - heard.monotonic) * drift;
}

/**
 * The upper bound of the difference of two clocks, ms. If our own two clocks disagree, one of them was set, or was
 * suspended between the readings: then the larger difference counts, and the vote is requested again.
 */
export function apartAtMost(one: Reading, other: Reading): number {
  return Math.max(...differences(one, other)) + one.uncertainty + other.uncertainty;
}

export function apartAtLeast(one: Reading, other: Reading): number {
  return Math.min(...differences(one, other)) - one.uncertainty - other.uncertainty;
}

function differences(one: Reading, other: Reading): readonly [number, number] {
  return [Math.abs(one.ofMonotonic - other.ofMonotonic), Math.abs(one.ofWall - other.ofWall)];
}
