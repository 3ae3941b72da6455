/** A process that runs nothing for longer than this stands still, ms. */
const longestPause = 20;

/** Shows when a process stood still: suspended, or kept from the processor by others. Times are in ms. */
export class Pulse {
  /** Time between two beats. */
  static readonly interval = 5;
  #last: number;
  #standstill: { readonly from: number; readonly until: number } | undefined;

  constructor(at: number) {
    this.#last = at;
  }

  beat(at: number): void {
    if (at - this.#last > longestPause) this.#standstill = { from: this.#last, until: at };
    this.#last = at;
  }

  /** The beginning of a standstill that has just ended; undefined if the process has been running. */
  standstill(at: number): number | undefined {
    this.beat(at);
    return this.#standstill && at - this.#standstill.until <= longestPause
      ? this.#standstill.from
      : undefined;
  }
}
