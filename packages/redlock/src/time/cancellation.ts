/**
 * Most latches have at most one listener at a time, and there is one for each call: so the lists are exactly as long as
 * needed.
 */
const none: readonly never[] = [];

function nothing(): void {}

/** Whether something is over, and the listeners to notify when it is. */
export class Latch {
  isOver = false;
  #listeners: ReadonlyArray<() => void> = none;

  /** Ends every wait in progress, and each later one immediately. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    const listeners = this.#listeners;
    // A latch that is over may be kept for long, as a closed round is by a result. Its listeners are not kept.
    this.#listeners = none;
    for (const listener of listeners) listener();
  }

  /** Calls `listener` at the end, or immediately after it. Returns a function that removes it. */
  onEnd(listener: () => void): () => void {
    if (this.isOver) {
      listener();
      return nothing;
    }
    // (`concat` is a call into the engine for the usual list of none.)
    this.#listeners = this.#listeners.length === 0 ? [listener] : this.#listeners.concat(listener);
    return () => {
      if (this.#listeners.length === 1 && this.#listeners[0] === listener) {
        this.#listeners = none;
        return;
      }
      const index = this.#listeners.indexOf(listener);
      // (`filter` and spread return an array with room for sixteen more items.)
      if (index >= 0)
        this.#listeners = this.#listeners.slice(0, index).concat(this.#listeners.slice(index + 1));
    };
  }

  /** Resolves at the end. */
  get done(): Promise<void> {
    return new Promise((resolve) => void this.onEnd(resolve));
  }

  /** Waits for `promise`, or until the end: then resolves to `undefined`. */
  race<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const forget = this.onEnd(() => resolve(undefined));
      promise.then(resolve, reject).finally(forget);
    });
  }
}

/** A latch that a call is ended by, and why. */
export class Cancellation extends Latch {
  #reason: Error | (() => Error) | undefined = undefined;

  /** Set once cancelled. Made where it is read first, by the call that ends with it: its stack leads to the caller. */
  get reason(): Error | undefined {
    if (typeof this.#reason === "function") this.#reason = this.#reason();
    return this.#reason;
  }

  /** The first reason stays. */
  cancel(reason: Error | (() => Error)): void {
    this.#reason ??= reason;
    this.end();
  }
}
