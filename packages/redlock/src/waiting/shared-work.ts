import { Latch } from "../time/cancellation.ts";
import type { Runtime, Timer } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";

/** Masters that answer later than the others by this, ms, and by as long as those took, are not awaited. */
const minGrace = 10;

/**
 * Asks `count` masters, and resolves when all have answered. Once `enough` have, the others have as long again, so that
 * a master that hangs delays nobody.
 */
export function askMost(
  runtime: Runtime,
  count: number,
  enough: number,
  ask: (index: number, onAnswer: () => void) => void,
): Promise<void> {
  return new Promise((resolve) => {
    const startedAt = runtime.monotonic();
    let answers = 0;
    let timer: Timer | undefined;
    const onAnswer = (): void => {
      answers += 1;
      if (answers === count) {
        timer?.cancel();
        resolve();
      } else if (answers === enough)
        timer = runtime.setTimer(resolve, Math.ceil(minGrace + runtime.monotonic() - startedAt));
    };
    for (let index = 0; index < count; index += 1) ask(index, onAnswer);
  });
}

/**
 * Work that is done for all callers: it has no caller's time limit (PROTOCOL 7.15). Each caller waits for it as long as its own limit
 * allows, counted from the beginning of the work.
 */
export class SharedWork {
  readonly #runtime: Runtime;
  readonly #startedAt: number;
  readonly #done = new Latch();
  /** By their limits, as long as they last. */
  readonly #waits = new Map<number, Promise<void>>();

  constructor(runtime: Runtime, work: Promise<unknown>) {
    this.#runtime = runtime;
    this.#startedAt = runtime.monotonic();
    void work.then(() => this.#done.end());
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
