import { Fifo } from "../time/fifo.ts";
import type { Runtime } from "../time/runtime.ts";

/**
 * Calls back at once, as long as there are few; more of them in the turns that follow. Thousands who give up at the same
 * moment would keep the process from extending what it holds.
 */
export class Paced {
  readonly #mostInTurn: number;
  readonly #runtime: Pick<Runtime, "setTimer">;
  readonly #waiting = new Fifo<() => void>();
  #called = 0;

  constructor(mostInTurn: number, runtime: Pick<Runtime, "setTimer">) {
    this.#mostInTurn = mostInTurn;
    this.#runtime = runtime;
  }

  call(callback: () => void): void {
    if (this.#called >= this.#mostInTurn) {
      this.#waiting.push(callback);
      return;
    }
    if (this.#called === 0) this.#runtime.setTimer(() => this.#nextTurn(), 0);
    this.#called += 1;
    callback();
  }

  #nextTurn(): void {
    this.#called = 0;
    for (let count = Math.min(this.#mostInTurn, this.#waiting.length); count > 0; count -= 1) {
      this.call(this.#waiting.shift()!);
    }
  }
}
