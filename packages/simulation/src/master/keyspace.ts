import { Entries, type Entry } from "./entries.ts";

/** One write, as a log keeps it. */
export interface Write {
  readonly key: string;
  /** `undefined` where the key was deleted. */
  readonly entry: Entry | undefined;
  /** The previous entry, if it was still alive. */
  readonly previous: Entry | undefined;
}

/**
 * The keys of one master. Time is given with each call: it is the master's own wall clock, and nothing else.
 *
 * A key is gone when now *exceeds* its expiry (checked on Redis 7), so it lives in the millisecond of its expiry,
 * with a PTTL of 0. A clock that steps back lengthens what is left of it.
 */
export class Keyspace {
  readonly #entries: Entries;
  readonly #written: (write: Write) => void;

  constructor(entries: Iterable<readonly [string, Entry]> = [], written: (write: Write) => void = () => {}) {
    this.#entries = new Entries(entries);
    this.#written = written;
  }

  get(key: string, now: number): Entry | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.expiresAt === undefined || now <= entry.expiresAt) return entry;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, entry: Entry): void {
    const previous = this.#entries.get(key);
    this.#entries.set(key, entry);
    this.#written({ key, entry, previous });
  }

  /** Whether it was there. */
  delete(key: string, now: number): boolean {
    const previous = this.get(key, now);
    if (!previous) return false;
    this.#entries.delete(key);
    this.#written({ key, entry: undefined, previous });
    return true;
  }

  clear(): void {
    for (const [key, previous] of this.#entries.all) {
      this.#entries.delete(key);
      this.#written({ key, entry: undefined, previous });
    }
  }

  /** Takes away what has expired, as Redis's active expiry does ten times a second. */
  sweep(now: number): void {
    for (const [key] of this.#entries.all) this.get(key, now);
  }

  entries(): ReadonlyArray<readonly [string, Entry]> {
    return this.#entries.all;
  }
}
