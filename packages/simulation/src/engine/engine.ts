import TinyQueue from "tinyqueue";

/** An event that is scheduled; only its engine looks into it. */
export interface EventId {
  readonly at: number;
  readonly number: number;
  callback: (() => void) | undefined;
}

/** An event never happens at the moment that caused it: what follows is later. */
export const shortestDelay = 1;
/** The longest delay of a JavaScript timer, ms. The caller chains timers for longer delays. */
export const longestDelay = 2_147_483_647;

function checkDelay(delay: number): void {
  if (Number.isInteger(delay) && delay >= shortestDelay && delay <= longestDelay) return;
  throw new RangeError(`a delay must be from ${shortestDelay} to ${longestDelay} whole us, but is ${delay}`);
}

const byTime = (one: EventId, other: EventId) => one.at - other.at || one.number - other.number;

/**
 * The event queue of a simulation, in true time. One tick is one microsecond; times are whole numbers of ticks. Events at the
 * same time happen in the order of scheduling, so a run depends on its seed alone.
 *
 * A cancelled event keeps its place in the heap, without its callback, until its time comes. That is a quarter of all events: to
 * remove them at once took as much time, and three times the lines.
 */
export class Engine {
  /** True time, in microseconds since the start. */
  now = 0;
  #scheduled = 0;
  readonly #events = new TinyQueue<EventId>([], byTime);

  /** Calls back `delay` from now; whole microseconds, from {@link shortestDelay} to {@link longestDelay}. */
  schedule(callback: () => void, delay: number): EventId {
    checkDelay(delay);
    this.#scheduled += 1;
    const event = { at: this.now + delay, number: this.#scheduled, callback };
    this.#events.push(event);
    return event;
  }

  /** Harmless when the event has happened. */
  cancel(event: EventId): void {
    event.callback = undefined;
  }

  /** Moves time to the next event and runs that one alone; false when nothing is scheduled. */
  step(): boolean {
    for (let event = this.#events.pop(); event; event = this.#events.pop()) {
      if (!event.callback) continue;
      this.now = event.at;
      event.callback();
      return true;
    }
    return false;
  }
}
