import type { SortedSet } from "./sorted-set.ts";

export interface Entry {
  readonly value: Value;
  /** By the master's wall clock, ms since the epoch. */
  readonly expiresAt: number | undefined;
  /** A string that SETRANGE has written: it is raw until it is loaded again. */
  readonly isRaw?: boolean;
}

/** A list exists only to be refused: that is all a lock needs of it. */
export type Value = string | { readonly list: readonly string[] } | { readonly sorted: SortedSet };

/** Deleted keys keep their place until there are this many, and more than live keys. */
const maxDeleted = 1024;

/**
 * Entries by key. A lock's key is set and deleted all the time, mostly under a name that was there before; a `Map`
 * that is emptied and filled is rebuilt each time, and leaves the old one to the garbage collector. So a
 * deleted key keeps its place.
 */
export class Entries {
  #entries: Map<string, Entry | undefined>;
  #deleted = 0;

  constructor(entries: Iterable<readonly [string, Entry]> = []) {
    this.#entries = new Map(entries);
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  set(key: string, entry: Entry): void {
    if (this.#deleted > 0 && this.#entries.has(key) && this.#entries.get(key) === undefined)
      this.#deleted -= 1;
    this.#entries.set(key, entry);
  }

  delete(key: string): void {
    if (this.#entries.get(key) === undefined) return;
    this.#entries.set(key, undefined);
    this.#deleted += 1;
    if (this.#deleted > maxDeleted && this.#deleted > this.#entries.size / 2) this.#tidy();
  }

  /** Those that are there now. */
  get all(): ReadonlyArray<readonly [string, Entry]> {
    return [...this.#entries].filter((pair): pair is [string, Entry] => pair[1] !== undefined);
  }

  #tidy(): void {
    this.#entries = new Map(this.all);
    this.#deleted = 0;
  }
}
