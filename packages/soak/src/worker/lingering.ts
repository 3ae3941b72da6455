import type { LingerWish } from "./protocol.ts";

/** A wish that nobody has met is given up after this, ms. */
const patience = 2000;

interface Waiting {
  readonly wish: LingerWish;
  readonly settle: (hold: string | null) => void;
}

/** Wishes that a holder stay with its lock, until one comes by. */
export class Lingering {
  #waiting: Waiting | undefined;

  /** Resolves with the hold that stays, with null where there is none in time. The latest wish counts. */
  wish(wish: LingerWish): Promise<string | null> {
    this.#waiting?.settle(null);
    return new Promise((resolve) => {
      const settle = (hold: string | null): void => {
        clearTimeout(timer);
        if (this.#waiting === waiting) this.#waiting = undefined;
        resolve(hold);
      };
      const waiting: Waiting = { wish, settle };
      const timer = setTimeout(() => settle(null), patience);
      this.#waiting = waiting;
    });
  }

  /** The wish, if there is one that this hold meets. It is met with that. */
  meet(hold: string, isHot: boolean): LingerWish | undefined {
    const waiting = this.#waiting;
    if (!waiting || (waiting.wish.hot && !isHot)) return undefined;
    waiting.settle(hold);
    return waiting.wish;
  }
}
