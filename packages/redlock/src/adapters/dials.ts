import { systemRuntime } from "../time/system.ts";

/**
 * A dial may look for the address again this long after it began, ms: the first packet of a connection is sent again
 * after 1 s, and a proxy or a Sentinel may take its time to choose the server.
 */
const sureTime = 1000;

/**
 * Counts the connections of the user's client. A connection of ours that was dialed before the one that the client
 * has now may lead to a server that the address has left since (PROTOCOL 2.18).
 */
export class Dials {
  /** The number of connections that were begun. */
  begun = 0;
  /** The number that the latest one with a greeting has among them. */
  connected = 0;
  #isDialed = false;
  #begunAt = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  constructor(now: () => number = () => systemRuntime.monotonic()) {
    this.#now = now;
  }

  /** `isDialed`: whether the client is connected now, or connecting. */
  see(isDialed: boolean): void {
    if (isDialed && !this.#isDialed) this.redial();
    this.#isDialed = isDialed;
  }

  /** It begins another connection, without an end of the previous one that could be seen. */
  redial(): void {
    this.#isDialed = true;
    this.begun += 1;
    this.#begunAt = this.#now();
  }

  /** The server has greeted it. After a long dial, it may have found its server later than connections of ours. */
  ready(): void {
    this.see(true);
    if (this.#now() - this.#begunAt >= sureTime) this.redial();
    this.connected = this.begun;
  }
}
