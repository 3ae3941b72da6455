import { now } from "../clock.ts";

const beat = 5;
/** Lateness of timers that is normal on a busy machine, ms. */
const normalLateness = 5;

/** For how long this process did not run: stopped, without a core, or busy with one thing. */
export class Stalls {
  #lastBeat: number = now();
  #total = 0;
  #latest = 0;

  constructor() {
    setInterval(() => {
      this.#latest = this.#present();
      this.#total += this.#latest;
      this.#lastBeat = now();
    }, beat).unref();
  }

  /** Since the process began, ms, the stall that has just ended included. */
  get total(): number {
    return this.#total + this.#present();
  }

  /** The stall that is going on or has only just ended, ms: whatever happens now may be late by that. */
  get latest(): number {
    return Math.max(this.#latest, this.#present());
  }

  #present(): number {
    const late = now() - this.#lastBeat - beat;
    return late > normalLateness ? late : 0;
  }
}
