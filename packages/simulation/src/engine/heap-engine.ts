import { checkDelay, type Engine, type EventId } from "./engine.ts";

/**
 * The event queue as a binary heap over plain arrays, for bulk runs. Cancelled events stay in the heap, without
 * their callback, until they come to the top.
 */
export class HeapEngine implements Engine {
  now = 0;
  readonly #times: number[] = [];
  readonly #ids: EventId[] = [];
  readonly #callbacks = new Map<EventId, () => void>();
  #nextId = 1;

  get pending(): number {
    return this.#callbacks.size;
  }

  schedule(callback: () => void, delay: number): EventId {
    checkDelay(delay);
    const id = this.#nextId;
    this.#nextId += 1;
    this.#callbacks.set(id, callback);
    this.#push(this.now + delay, id);
    return id;
  }

  cancel(event: EventId): void {
    this.#callbacks.delete(event);
  }

  step(): boolean {
    while (this.#ids.length > 0) {
      const time = this.#times[0]!;
      const id = this.#ids[0]!;
      this.#removeTop();
      const callback = this.#callbacks.get(id);
      if (!callback) continue;
      this.#callbacks.delete(id);
      this.now = time;
      callback();
      return true;
    }
    return false;
  }

  #push(time: number, id: EventId): void {
    let index = this.#ids.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#times[parent]! <= time) break;
      this.#times[index] = this.#times[parent]!;
      this.#ids[index] = this.#ids[parent]!;
      index = parent;
    }
    this.#times[index] = time;
    this.#ids[index] = id;
  }

  #removeTop(): void {
    const time = this.#times.pop()!;
    const id = this.#ids.pop()!;
    const size = this.#ids.length;
    if (size === 0) return;
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && this.#isEarlier(child + 1, child)) child += 1;
      const later = this.#times[child]! > time || (this.#times[child] === time && this.#ids[child]! > id);
      if (later) break;
      this.#times[index] = this.#times[child]!;
      this.#ids[index] = this.#ids[child]!;
      index = child;
    }
    this.#times[index] = time;
    this.#ids[index] = id;
  }

  /** Of two events at the same time, the one that was scheduled first. */
  #isEarlier(left: number, right: number): boolean {
    const leftTime = this.#times[left]!;
    const rightTime = this.#times[right]!;
    return leftTime < rightTime || (leftTime === rightTime && this.#ids[left]! < this.#ids[right]!);
  }
}
