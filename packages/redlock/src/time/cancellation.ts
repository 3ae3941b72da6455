/** Most have none or one at a time, and there is one for each call: so lists are as long as they need to be. */
const none: readonly never[] = [];

function nothing(): void {}

/** Why a waiting call is to end, and the wake-up of whatever it is waiting for. */
export class Cancellation {
  /** Set once cancelled. */
  reason: Error | undefined = undefined;
  #listeners: ReadonlyArray<() => void> = none;

  /** Ends every wait in progress, and each later one at once. The first reason stays. */
  cancel(reason: Error): void {
    if (this.reason) return;
    this.reason = reason;
    for (const listener of this.#listeners) listener();
  }

  /** Called at the cancellation, or at once if that has been. Returns how to take the listener away. */
  onCancel(listener: () => void): () => void {
    if (this.reason) {
      listener();
      return nothing;
    }
    this.#listeners = this.#listeners.concat(listener);
    return () => {
      const index = this.#listeners.indexOf(listener);
      // (What a filter or a spread returns has room for sixteen more.)
      if (index >= 0)
        this.#listeners = this.#listeners.slice(0, index).concat(this.#listeners.slice(index + 1));
    };
  }

  /** Waits for `promise`, but no longer than until the cancellation: then resolves to `undefined`. */
  race<T>(promise: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const forget = this.onCancel(() => resolve(undefined));
      promise.then(resolve, reject).finally(forget);
    });
  }
}
