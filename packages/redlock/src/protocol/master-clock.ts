import type { Runtime } from "../time/runtime.ts";
import type { ClockReadings, Moment, Reading } from "./node.ts";
import { WeakListeners } from "./weak-listeners.ts";

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
 * The clock of the master that a connection leads to. Each reading of it comes here, whatever it was made for: an order
 * of tickets (PROTOCOL 7.2), the clock watch (11.1), or a vote that is judged by it (11.4).
 */
export class MasterClock implements ClockReadings {
  readonly #listeners = new WeakListeners<[reading: Reading]>();
  readonly #runtime: Pick<Runtime, "monotonic" | "wall">;
  #best: Reading | undefined;

  constructor(runtime: Pick<Runtime, "monotonic" | "wall">) {
    this.#runtime = runtime;
  }

  now(): Moment {
    return { monotonic: this.#runtime.monotonic(), wall: this.#runtime.wall() };
  }

  /** The most exact reading: one of a busy process is heard late. None if one of our own clocks has leapt since. */
  get best(): Reading | undefined {
    return this.#best && !hasLeapt(this.#best.heard, this.now()) ? this.#best : undefined;
  }

  /** Records that the clock showed `time`, ms, at some moment since `sent`. */
  observe(sent: Moment, time: number): Reading {
    const reading = readingOf(sent, this.now(), time);
    if (isBetter(reading, this.best)) this.#best = reading;
    this.#listeners.call(reading);
    return reading;
  }

  /** Calls `listener` with each reading, for as long as its owner keeps a reference to it. */
  onReading(listener: (reading: Reading) => void): void {
    this.#listeners.add(listener);
  }

  /** The connection may lead to another server. */
  forget(): void {
    this.#best = undefined;
  }
}

/** The earlier reading stays if it agrees with the later one and is no less exact. */
function isBetter(later: Reading, earlier: Reading | undefined): boolean {
  if (!earlier) return true;
  const uncertainty = uncertaintyAt(earlier, later.heard.monotonic);
  const difference = Math.abs(later.ofMonotonic - earlier.ofMonotonic);
  return later.uncertainty < uncertainty || difference > later.uncertainty + uncertainty;
}
