/**
 * A FIFO queue that is fast with tens of thousands of items: removing the first item of an array moves all the
 * others. An item that is removed from the middle stays until half of them are such.
 */
export class Fifo<T> {
  #items: Array<T | undefined> = [];
  #first = 0;
  /** Removed from the middle, and still among the items. */
  readonly #removed = new Set<T>();

  get length(): number {
    return this.#items.length - this.#first - this.#removed.size;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    while (this.#first < this.#items.length) {
      const item = this.#items[this.#first] as T;
      this.#items[this.#first] = undefined;
      this.#first += 1;
      // Half of the items are removed: the rest moves once for that many removals.
      if (this.#first * 2 >= this.#items.length) {
        this.#items = this.#items.slice(this.#first);
        this.#first = 0;
      }
      if (!this.#removed.delete(item)) return item;
    }
    return undefined;
  }

  /** Removes an item that is in the queue. */
  remove(item: T): void {
    this.#removed.add(item);
    if (this.#removed.size > this.length) this.#items = this.drain();
  }

  /** Those that are in the queue now, whatever is removed meanwhile. */
  [Symbol.iterator](): Iterator<T> {
    return (this.#items.slice(this.#first) as T[]).filter((item) => !this.#removed.has(item)).values();
  }

  /** Removes and returns all items. */
  drain(): T[] {
    const items = [...this];
    this.#items = [];
    this.#first = 0;
    this.#removed.clear();
    return items;
  }
}
