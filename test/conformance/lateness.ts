/** By how much timers of this process are late: a beat every few milliseconds, and what it misses. */
export class Lateness implements Disposable {
  readonly #interval = 5;
  #due: number;
  #latest = 0;
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#due = performance.now() + this.#interval;
    this.#timer = setInterval(() => {
      const now = performance.now();
      this.#latest = Math.max(this.#latest, now - this.#due);
      this.#due = now + this.#interval;
    }, this.#interval);
  }

  /** The most, ms, a beat that is overdue now included. */
  get late(): number {
    return Math.max(this.#latest, performance.now() - this.#due, 0);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
