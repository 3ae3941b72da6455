/**
 * A FIFO queue that is fast with tens of thousands of items: removing the first item of an array moves all the
 * others.
 */
export class Fifo<T> {
  #items: Array<T | undefined> = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first];
    this.#items[this.#first] = undefined;
    this.#first += 1;
    // Half of the items are removed: the rest moves once for that many removals.
    if (this.#first * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  filter(isWanted: (item: T) => boolean): Fifo<T> {
    const wanted = new Fifo<T>();
    for (const item of this) if (isWanted(item)) wanted.push(item);
    return wanted;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let index = this.#first; index < this.#items.length; index += 1) yield this.#items[index] as T;
  }

  /** Removes and returns all items. */
  drain(): readonly T[] {
    const items = this.#items.slice(this.#first) as T[];
    this.#items = [];
    this.#first = 0;
    return items;
  }
}
