import { type Engine, shortestDelay } from "./engine.ts";

/**
 * A gate that everything goes through in order. Closed, it keeps what comes; opened, it lets that out one by one,
 * a tick apart (each is a separate event), and whatever comes meanwhile queues behind.
 */
export class Backlog<T> {
  readonly #engine: Engine;
  readonly #let: (item: T) => void;
  #waiting: T[] = [];
  #closed = false;
  #pumping = false;

  constructor(engine: Engine, letThrough: (item: T) => void) {
    this.#engine = engine;
    this.#let = letThrough;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  pass(item: T): void {
    if (this.#closed || this.#waiting.length > 0) this.#waiting.push(item);
    else this.#let(item);
  }

  close(): void {
    this.#closed = true;
  }

  /** `order` may rearrange what has gathered. */
  open(order: (waiting: T[]) => T[] = (waiting) => waiting): void {
    if (!this.#closed) return;
    this.#closed = false;
    this.#waiting = order(this.#waiting);
    this.#pump();
  }

  /** Forgets what has gathered. */
  clear(): void {
    this.#waiting = [];
  }

  #pump(): void {
    if (this.#pumping || this.#waiting.length === 0) return;
    this.#pumping = true;
    this.#engine.schedule(() => {
      this.#pumping = false;
      if (this.#closed) return;
      const item = this.#waiting.shift();
      if (item === undefined) return;
      this.#let(item);
      this.#pump();
    }, shortestDelay);
  }
}
