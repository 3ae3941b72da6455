import type { LingerRequest } from "./protocol.ts";

/** An unmet request is dropped after this time, ms. */
const requestTimeout = 2000;

interface Waiting {
  readonly request: LingerRequest;
  readonly settle: (hold: string | null) => void;
}

/** Requests that a holder stay with its lock, until one comes by. */
export class Lingering {
  #waiting: Waiting | undefined;

  /** Resolves with the lock that lingers, or with null if none does in time. The latest request counts. */
  request(request: LingerRequest): Promise<string | null> {
    this.#waiting?.settle(null);
    return new Promise((resolve) => {
      const settle = (hold: string | null): void => {
        clearTimeout(timer);
        if (this.#waiting === waiting) this.#waiting = undefined;
        resolve(hold);
      };
      const waiting: Waiting = { request, settle };
      const timer = setTimeout(() => settle(null), requestTimeout);
      this.#waiting = waiting;
    });
  }

  /** The request that this lock meets, if there is one. It is met by this call. */
  meet(hold: string, isHot: boolean): LingerRequest | undefined {
    const waiting = this.#waiting;
    if (!waiting || (waiting.request.hot && !isHot)) return undefined;
    waiting.settle(hold);
    return waiting.request;
  }
}
