/**
 * The event queue of a simulation, in true time. One tick is one microsecond; times are whole numbers of ticks.
 *
 * Two implementations order events alike, by time and then by the order of scheduling, so a run produces the same hash
 * on both.
 */
export interface Engine {
  /** True time, in microseconds since the start. */
  readonly now: number;
  /** How many events are scheduled. */
  readonly pending: number;
  /** Calls back `delay` from now; whole microseconds, from {@link shortestDelay} to {@link longestDelay}. */
  schedule(callback: () => void, delay: number): EventId;
  /** Harmless when the event has happened. */
  cancel(event: EventId): void;
  /** Moves time to the next event and runs that one alone; false when nothing is scheduled. */
  step(): boolean;
}

export type EventId = number;

/** An event never happens at the moment that caused it: what follows is later. */
export const shortestDelay = 1;
/** The longest delay of a JavaScript timer, ms. The caller chains timers for longer delays. */
export const longestDelay = 2_147_483_647;

/** Both engines take exactly these: a fake timer would truncate or wrap the others without a word. */
export function checkDelay(delay: number): void {
  if (Number.isInteger(delay) && delay >= shortestDelay && delay <= longestDelay) return;
  throw new RangeError(`a delay must be from ${shortestDelay} to ${longestDelay} whole us, but is ${delay}`);
}

export type EngineKind = "fake-timers" | "heap";
