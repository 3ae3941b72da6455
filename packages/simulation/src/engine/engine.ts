import { type EventId, EventSlots } from "./event-slots.ts";

export type { EventId } from "./event-slots.ts";

/** An event never happens at the moment that caused it: what follows is later. */
export const shortestDelay = 1;
/** The longest delay of a JavaScript timer, ms. The caller chains timers for longer delays. */
export const longestDelay = 2_147_483_647;

function checkDelay(delay: number): void {
  if (Number.isInteger(delay) && delay >= shortestDelay && delay <= longestDelay) return;
  throw new RangeError(`a delay must be from ${shortestDelay} to ${longestDelay} whole us, but is ${delay}`);
}

/**
 * The event queue of a simulation, in true time: a binary heap of numbers. One tick is one microsecond; times are whole numbers of ticks.
 *
 * Problem: a run schedules millions of events, and most of them never happen, because nearly every timer of a client
 * is a timeout that is cancelled. A sorted array costs O(n) for each event. A heap that only marks events as cancelled
 * fills with dead ones, and each of them is still sorted to the top. A heap of objects spends most of its time in
 * comparisons through pointers, and on garbage collection.
 *
 * Solution: the heap consists of two arrays of numbers, the time of each event and its slot. `EventSlots` keeps the
 * callbacks by slot and reuses free ones. `#places` maps a slot to its position in the heap, so a cancelled event is
 * removed at once in O(log n): the last event takes its position and moves up or down. Events at the same time happen
 * in the order of scheduling, so a run depends on its seed alone.
 */
export class Engine {
  /** True time, in microseconds since the start. */
  now = 0;
  readonly #slots = new EventSlots();
  #pending = 0;
  /** The heap, earliest event first: when each happens, and the slot it has. */
  readonly #times: number[] = [];
  readonly #events: number[] = [];
  /** By slot: the event's place in the heap. */
  readonly #places: number[] = [];

  /** How many events are scheduled. */
  get pending(): number {
    return this.#pending;
  }

  /** Calls back `delay` from now; whole microseconds, from {@link shortestDelay} to {@link longestDelay}. */
  schedule(callback: () => void, delay: number): EventId {
    checkDelay(delay);
    const slot = this.#slots.take(callback);
    this.#pending += 1;
    this.#rise(this.#pending - 1, this.now + delay, slot);
    return this.#slots.eventIn(slot);
  }

  /** Harmless when the event has happened. */
  cancel(event: EventId): void {
    const slot = this.#slots.slotOf(event);
    if (slot !== undefined) this.#remove(this.#places[slot]!);
  }

  /** Moves time to the next event and runs that one alone; false when nothing is scheduled. */
  step(): boolean {
    if (this.#pending === 0) return false;
    this.now = this.#times[0]!;
    this.#remove(0)();
    return true;
  }

  /** Empties a place, and fills it with the last of the heap. Returns what was to happen. */
  #remove(place: number): () => void {
    const callback = this.#slots.free(this.#events[place]!);
    this.#pending -= 1;
    const last = this.#pending;
    if (place === last) return callback;
    const time = this.#times[last]!;
    const slot = this.#events[last]!;
    if (place > 0 && this.#isEarlier(time, slot, parentOf(place))) this.#rise(place, time, slot);
    else this.#sink(place, time, slot);
    return callback;
  }

  #rise(from: number, time: number, slot: number): void {
    let place = from;
    while (place > 0 && this.#isEarlier(time, slot, parentOf(place))) {
      this.#put(place, this.#times[parentOf(place)]!, this.#events[parentOf(place)]!);
      place = parentOf(place);
    }
    this.#put(place, time, slot);
  }

  #sink(from: number, time: number, slot: number): void {
    let place = from;
    for (let child = 2 * place + 1; child < this.#pending; child = 2 * place + 1) {
      const right = child + 1;
      if (right < this.#pending && this.#isEarlier(this.#times[right]!, this.#events[right]!, child))
        child = right;
      if (this.#isEarlier(time, slot, child)) break;
      this.#put(place, this.#times[child]!, this.#events[child]!);
      place = child;
    }
    this.#put(place, time, slot);
  }

  #put(place: number, time: number, slot: number): void {
    this.#times[place] = time;
    this.#events[place] = slot;
    this.#places[slot] = place;
  }

  /** Whether an event comes before the one at `place`. */
  #isEarlier(time: number, slot: number, place: number): boolean {
    const other = this.#times[place]!;
    if (time !== other) return time < other;
    return this.#slots.orderOf(slot) < this.#slots.orderOf(this.#events[place]!);
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 1;
}
