import type { Args, Connection } from "../redis/connection.ts";

/** The connection was lost, as this library tells it: no reply of a server, whose text it may repeat. */
export class Lost extends Error {
  readonly code = "LOST";
}

/** The connection of the command has been replaced or is not ready: nothing was sent. */
export class NotSent extends Lost {
  override name = "NotSent";
}

/**
 * The connection in its present state. A question of several commands uses one session: each is sent
 * on the connection of the first step, or not at all (PROTOCOL 2.16). Between two steps the client
 * library may replace the connection, perhaps by one to another database, where no key is watched and no
 * transaction is open.
 */
export class Session {
  /** Whether a step may have set or deleted a key; set by the sender of the step. */
  hasWritten = false;
  readonly #connection: Connection;
  readonly #number: number;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#number = connection.session;
  }

  get isCurrent(): boolean {
    const { isReady, isOpen = isReady, session } = this.#connection;
    return isOpen && session === this.#number;
  }

  /** Rejects with {@link NotSent} if the session has ended. */
  send(command: string, args: Args): Promise<unknown> {
    if (this.isCurrent) return this.#connection.send(command, args);
    return Promise.reject(new NotSent(this.#connection.notReadyReason));
  }

  isErrorReply(error: unknown): error is Error {
    return this.#connection.isErrorReply(error);
  }
}
