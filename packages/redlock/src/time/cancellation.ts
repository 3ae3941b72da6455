/**
 * Most cancellations have at most one listener at a time, and there is one for each call: so the lists are exactly as
 * long as needed.
 */
const none: readonly never[] = [];

function nothing(): void {}

/** The reason for ending a waiting call, and the listeners to notify. */
export class Cancellation {
  /** Set once cancelled. */
  reason: Error | undefined = undefined;
  #listeners: ReadonlyArray<() => void> = none;

  /** Ends every wait in progress, and each later one immediately. The first reason stays. */
  cancel(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` at the cancellation, or immediately after it. Returns a function that removes it. */
  onCancel(listener: () => void): () => void {
    if (this.reason) {
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

  /** Waits for `promise`, or until the cancellation: then resolves to `undefined`. */
  race<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const forget = this.onCancel(() => resolve(undefined));
      promise.then(resolve, reject).finally(forget);
    });
  }
}
