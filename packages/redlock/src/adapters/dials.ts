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

  /** `isDialed`: whether the client is connected now, or connecting. */
  see(isDialed: boolean): void {
    if (isDialed && !this.#isDialed) this.begun += 1;
    this.#isDialed = isDialed;
  }

  /** It begins another connection, without an end of the previous one that could be seen. */
  redial(): void {
    this.#isDialed = true;
    this.begun += 1;
  }

  /** The server has greeted it. */
  ready(): void {
    this.see(true);
    this.connected = this.begun;
  }
}
