export type EventId = number;

/** Maximum number of pending events: an {@link EventId} has no room for more beside the number of the event. */
const maxPending = 2 ** 20;

const nothing = (): void => {};

/**
 * The callbacks of the pending events of an engine, each in a slot that a later event may reuse. A queue moves the
 * numbers of slots only: moving pointers between old and new memory, and keeping past events from being collected,
 * would cost more than the queue itself.
 */
export class EventSlots {
  readonly #callbacks: Array<() => void> = [];
  /** Which event has the slot, in the order of scheduling from 1; 0 for none. */
  readonly #orders: number[] = [];
  readonly #free: number[] = [];
  #scheduled = 0;

  get taken(): number {
    return this.#callbacks.length - this.#free.length;
  }

  take(callback: () => void): number {
    const slot = this.#free.length > 0 ? this.#free.pop()! : this.#callbacks.length;
    if (slot === maxPending) throw new RangeError(`more than ${maxPending} events are pending`);
    this.#scheduled += 1;
    this.#callbacks[slot] = callback;
    this.#orders[slot] = this.#scheduled;
    return slot;
  }

  /** Returns what was to happen. */
  free(slot: number): () => void {
    const callback = this.#callbacks[slot]!;
    this.#callbacks[slot] = nothing;
    this.#orders[slot] = 0;
    this.#free.push(slot);
    return callback;
  }

  /** Of two events at the same time, the one that was scheduled first comes first. */
  orderOf(slot: number): number {
    return this.#orders[slot]!;
  }

  eventIn(slot: number): EventId {
    return this.#orders[slot]! * maxPending + slot;
  }

  /** `undefined` for an event that has happened or was cancelled: its slot is free, or another's. */
  slotOf(event: EventId): number | undefined {
    const slot = event % maxPending;
    return this.#orders[slot] === (event - slot) / maxPending ? slot : undefined;
  }
}
