import { systemRuntime } from "@quorlock/redlock";

/** The wall clock of one master: the machine's, or the fake one of a test, until it drifts or is set. */
export class EmbeddedClock {
  /** Its time when the machine's clock showed `#since`. */
  #shown = 0;
  #since = 0;
  #rate = 1;

  /** Whole milliseconds. */
  now(): number {
    return Math.floor(this.#shown + (systemRuntime.wall() - this.#since) * this.#rate);
  }

  /** From now on it runs at this rate. */
  runAt(rate: number): void {
    this.#shown = this.now();
    this.#since = systemRuntime.wall();
    this.#rate = rate;
  }

  step(ms: number): void {
    this.#shown += ms;
  }
}
