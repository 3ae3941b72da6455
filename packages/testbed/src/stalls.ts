/** The interval of the timer whose delays are measured, ms. */
const beat = 5;
/** A timer may be late by this much on a busy machine, although its process runs, ms. */
const normalLateness = 5;
/** The time for which each stall is remembered, ms. */
const remembered = 30_000;

/**
 * Measures for how long this process did not run since this was created: stopped, without a core, or busy with one
 * synchronous task. A time limit that is compared with the rest holds on a slow machine too.
 */
export class Stalls implements Disposable {
  #lastBeat: number = performance.now();
  #total = 0;
  #latest = 0;
  #longest = 0;
  /** The latest ones, by their ends. */
  #ended: readonly { readonly at: number; readonly took: number }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => {
      this.#latest = this.#present();
      this.#total += this.#latest;
      this.#longest = Math.max(this.#longest, this.#latest);
      this.#lastBeat = performance.now();
      if (this.#latest > 0) this.#remember(this.#lastBeat);
    }, beat);
    this.#timer.unref();
  }

  /** All stalls, ms, with the one that has just ended. */
  get total(): number {
    return this.#total + this.#present();
  }

  /** The stall that is going on or has just ended, ms: an event of this moment may be late by that. */
  get latest(): number {
    return Math.max(this.#latest, this.#present());
  }

  /** The longest one, ms. */
  get longest(): number {
    return Math.max(this.#longest, this.#present());
  }

  /** Each that has ended in the last `time` ms, 30,000 at most, and the one that is going on, ms. */
  within(time: number): readonly number[] {
    const from = performance.now() - time;
    const ended = this.#ended.filter(({ at }) => at >= from).map(({ took }) => took);
    return [...ended, this.#present()];
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #remember(now: number): void {
    this.#ended = this.#ended
      .filter(({ at }) => at > now - remembered)
      .concat({ at: now, took: this.#latest });
  }

  #present(): number {
    const late = performance.now() - this.#lastBeat - beat;
    return late > normalLateness ? late : 0;
  }
}
