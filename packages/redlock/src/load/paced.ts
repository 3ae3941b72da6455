import type { Runtime } from "../time/runtime.ts";

/**
 * Calls the first callbacks of a turn at once, and the others in later turns. Thousands of callers that give up at
 * the same moment would keep the process from extending the leases it holds.
 */
export class Paced {
  readonly #maxPerTurn: number;
  readonly #runtime: Pick<Runtime, "setTimer">;
  /** Those of this turn, and behind them those of later ones. */
  #calls: Array<() => void> = [];

  constructor(maxPerTurn: number, runtime: Pick<Runtime, "setTimer">) {
    this.#maxPerTurn = maxPerTurn;
    this.#runtime = runtime;
  }

  call(callback: () => void): void {
    const count = this.#calls.push(callback);
    if (count === 1) this.#runtime.setTimer(() => this.#nextTurn(), 0);
    if (count <= this.#maxPerTurn) callback();
  }

  #nextTurn(): void {
    const later = this.#calls.slice(this.#maxPerTurn);
    this.#calls = [];
    for (const callback of later) this.call(callback);
  }
}
