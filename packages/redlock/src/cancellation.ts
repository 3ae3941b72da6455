/** Why a waiting call is to end, and the wake-up of whatever it is waiting for. */
export class Cancellation {
  #reason: Error | undefined;
  readonly #wakeUps = new Set<() => void>();

  /** Set once cancelled. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Ends every wait in progress, and each later one at once. The first reason stays. */
  cancel(reason: Error): void {
    if (this.#reason) return;
    this.#reason = reason;
    for (const wakeUp of this.#wakeUps) wakeUp();
  }

  /** Waits for `promise`, but no longer than until the cancellation: then resolves to `undefined`. */
  race<T>(promise: Promise<T>): Promise<T | undefined> {
    if (this.#reason) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      const wakeUp = () => resolve(undefined);
      this.#wakeUps.add(wakeUp);
      promise.then(
        (value) => {
          this.#wakeUps.delete(wakeUp);
          resolve(value);
        },
        (error: unknown) => {
          this.#wakeUps.delete(wakeUp);
          reject(error);
        },
      );
    });
  }
}
