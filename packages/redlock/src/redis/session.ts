import type { Args, Connection } from "./connection.ts";

/** The connection that a command belongs to does not stand any more, or not yet: nothing was sent. */
export class NotSent extends Error {
  override name = "NotSent";
}

/**
 * The connection as it stands now. What is asked in several steps is asked in one session: each step is sent on the
 * connection of the first, or not at all (PROTOCOL 2.16). The client library may have put another connection in its place
 * between two of them, perhaps to another database, where nothing is watched and no transaction is open.
 */
export class Session {
  /** Whether a step may have set or deleted something: to be told by whoever sends the step. */
  hasWritten = false;
  readonly #connection: Connection;
  readonly #number: number;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#number = connection.session;
  }

  get stands(): boolean {
    return this.#connection.isReady && this.#connection.session === this.#number;
  }

  /** Rejects with {@link NotSent} where it has ended. */
  send(command: string, args: Args): Promise<unknown> {
    if (this.stands) return this.#connection.send(command, args);
    return Promise.reject(new NotSent(this.#connection.notReadyReason));
  }

  isReply(error: unknown): error is Error {
    return this.#connection.isReply(error);
  }
}
