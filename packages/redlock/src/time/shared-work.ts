import type { Latch } from "./cancellation.ts";
import type { Runtime } from "./runtime.ts";
import { sleep } from "./sleep.ts";

/**
 * Work that is done for all callers: it has no caller's time limit (PROTOCOL 7.15). Each caller waits for it as long as its own limit
 * allows, counted from the beginning of the work.
 */
export class SharedWork {
  readonly #runtime: Runtime;
  readonly #startedAt: number;
  readonly #done: Latch;
  /** By their limits, as long as they last. */
  readonly #waits = new Map<number, Promise<void>>();

  /** `done`: ends with the work, which begins now. */
  constructor(runtime: Runtime, done: Latch) {
    this.#runtime = runtime;
    this.#startedAt = runtime.monotonic();
    this.#done = done;
  }

  /** Resolves when the work is done, at the latest `limit` ms after it began. */
  within(limit: number): Promise<void> {
    const known = this.#waits.get(limit);
    if (known) return known;
    const left = this.#startedAt + limit - this.#runtime.monotonic();
    if (left <= 0 || this.#done.isOver) return Promise.resolve();
    const wait = sleep(this.#runtime, left, this.#done).then(() => void this.#waits.delete(limit));
    this.#waits.set(limit, wait);
    return wait;
  }
}
