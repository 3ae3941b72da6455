import { Fifo } from "../time/fifo.ts";
import type { Runtime } from "../time/runtime.ts";

/**
 * Calls the first callbacks of a turn at once, and the others in later turns. Thousands of callers that give up at
 * the same moment would keep the process from extending the leases it holds.
 */
export class Paced {
  readonly #maxPerTurn: number;
  readonly #runtime: Pick<Runtime, "setTimer">;
  readonly #waiting = new Fifo<() => void>();
  #called = 0;

  constructor(maxPerTurn: number, runtime: Pick<Runtime, "setTimer">) {
    this.#maxPerTurn = maxPerTurn;
    this.#runtime = runtime;
  }

  call(callback: () => void): void {
    if (this.#called >= this.#maxPerTurn) {
      this.#waiting.push(callback);
      return;
    }
    if (this.#called === 0) this.#runtime.setTimer(() => this.#nextTurn(), 0);
    this.#called += 1;
    callback();
  }

  #nextTurn(): void {
    this.#called = 0;
    for (let count = Math.min(this.#maxPerTurn, this.#waiting.length); count > 0; count -= 1) {
      this.call(this.#waiting.shift()!);
    }
  }
}
