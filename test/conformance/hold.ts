import { setTimeout as pause } from "node:timers/promises";
import type { Subject } from "./libraries/subject.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";

/** A routine that holds a lock in `using` and waits until it is notified of the loss. */
export class Hold {
  /** Before the lock was asked for (`performance.now()`): no key can have been set earlier. */
  readonly begun: number;
  /** Resolves when the routine runs, rejects when `using` ended before. */
  readonly held: Promise<void>;
  readonly #using: Promise<unknown>;
  #notifiedAt: number | undefined;
  #onTold: Array<() => void> = [];
  #endRoutine: () => void = () => {};

  static async begin(subject: Subject, resource: string, ttl: number): Promise<Hold> {
    const hold = new Hold(subject, resource, ttl);
    await hold.held;
    return hold;
  }

  private constructor(subject: Subject, resource: string, ttl: number) {
    let runs!: () => void;
    const running = new Promise<void>((resolve) => {
      runs = resolve;
    });
    const routineEnds = new Promise<void>((resolve) => {
      this.#endRoutine = resolve;
    });
    this.begun = performance.now();
    this.#using = subject.using(resource, ttl, async (signal) => {
      signal.addEventListener("abort", () => this.#tell(), { once: true });
      if (signal.aborted) this.#tell();
      runs();
      await routineEnds;
    });
    // `end` looks at the outcome of `using`; a case about something else must not fail because of it.
    this.#using.catch(() => {});
    this.held = Promise.race([running, this.#using.then(() => {})]);
  }

  #tell(): void {
    this.#notifiedAt ??= performance.now();
    for (const wake of this.#onTold) wake();
  }

  /** The time at which the holder was notified of the loss (`performance.now()`); `undefined` if not within `limit` ms. */
  async notifiedAt(limit: number): Promise<number | undefined> {
    if (this.#notifiedAt === undefined) {
      const controller = new AbortController();
      const timeUp = pause(limit, undefined, { signal: controller.signal }).catch(() => {});
      await Promise.race([new Promise<void>((resolve) => this.#onTold.push(resolve)), timeUp]);
      controller.abort();
    }
    return this.#notifiedAt;
  }

  /** Lets the routine return, and waits for `using` to end. */
  end(limit: number): Promise<Outcome<unknown>> {
    this.#endRoutine();
    return outcomeOf(() => this.#using, limit);
  }
}
