export type Args = readonly (string | number)[];

/** A command, the same object for all connections that it is sent on. */
export interface Message {
  readonly command: string;
  readonly args: Args;
  /** For the adapter: its encoding of the command, for the next connection of the same library. */
  wire?: unknown;
}

/** Called once with the outcome of a command; `error` is `undefined` if the outcome is a reply. */
export type Done = (reply: unknown, error?: unknown) => void;

/**
 * The adapter for one client library: a FIFO connection to one master, which sends a command immediately or
 * not at all.
 */
export interface Connection {
  /** `host:port`. */
  readonly name: string;
  /** The client that the user passed. */
  readonly client: object;
  /** The window of all nodes that use it: the first of them sets it, and the connection leaves it alone. */
  window?: object;
  /** Whether a command can be sent now. */
  readonly isReady: boolean;
  /**
   * Whether what was begun in this {@link session} can go on. Default: {@link isReady}. If that is false and this is
   * true, it is being found out where the connection leads (PROTOCOL 2.18): commands are kept in their order, and sent or
   * rejected once it is known; new ones should wait for {@link connectFirst}.
   */
  readonly isOpen?: boolean;
  /**
   * Identifies the current connection: a new number for each connection and for each database. It changes
   * before anything can be sent on the next connection; while it is unchanged and {@link isReady} is true,
   * the connection is the same.
   */
  readonly session: number;
  /** The reason why no command can be sent. */
  readonly notReadyReason: string;
  /**
   * Makes the first connection, if there has been none: resolves when it is ready or has failed. `undefined`
   * if there has been one: reconnecting is up to the client library. While {@link isOpen} is true, resolves when it is
   * known where the connection leads.
   */
  connectFirst(): Promise<void> | undefined;
  /**
   * Sends immediately on the current connection. Rejects if there is none, and does not make one. Resolves to
   * the reply; rejects with the error of the master or of the connection.
   */
  send(command: string, args: Args): Promise<unknown>;
  /**
   * The same with a callback: `done` is called once, after this has returned. Missing if the client library
   * has nothing cheaper than its promises.
   */
  readonly deliver?: ((message: Message, done: Done) => void) | undefined;
  /**
   * Called with an error reply of the master. If the error shows that this is the wrong server, or if the
   * user's client would reconnect because of it, the connection is replaced. Nothing is sent again.
   */
  onErrorReply?(error: Error): void;
  /** Whether a rejection is an error reply of the master, and not a failure of the connection. */
  isErrorReply(error: unknown): error is Error;
  /**
   * Returns why these resources cannot be locked here or not together, see {@link LockNode.refuses};
   * `undefined` if they can.
   */
  refuses?(resources: readonly string[]): string | undefined;
  /** Put before the keys of each command. */
  readonly keyPrefix?: string;
  /** Whether it leads to a Redis Cluster: each question is then a command of its own, without queue and fencing (PROTOCOL 12.6). */
  readonly isCluster?: boolean;
  /**
   * Subscribes to a channel, on a connection of its own that ends with this one. `onChange` is called when it
   * is known whether the subscription works, and on every change; with the master's error if it refuses. The
   * caller must keep the returned object: the subscription may end when it is garbage-collected.
   */
  subscribe?(
    channel: string,
    onMessage: (message: string) => void,
    onChange: (isListening: boolean, error?: unknown) => void,
  ): unknown;
  /** The database of the commands, if there are several. */
  readonly database?: number | undefined;
  /**
   * Identifies the server of the current connection, or the servers of a Cluster. Known before `onReady` is
   * called, and so before anything is sent. Missing or empty if it cannot be determined.
   */
  readonly serverIds?: readonly string[];
  /**
   * Calls `listener` whenever the client is switched to another database: immediately. That is another connection:
   * what was not answered by then is rejected, and {@link onReady} tells when commands can be sent there. The listener is
   * called for as long as its owner keeps a reference to it.
   */
  onMove?(listener: (why: string) => void): void;
  /** Calls `listener` whenever commands can be sent again. Returns a function that removes the listener. */
  onReady(listener: () => void): () => void;
  /** A node begins to use the connection. Missing: see {@link leave}. */
  join?(): void;
  /**
   * A node does not use the connection any more. With the last one it ends, after what was just sent, and the user's
   * client stays open; the next {@link join} opens it again. Missing: there is nothing beside the user's client.
   */
  leave?(): void;
  /** Closes the connection and the user's client after pending commands. */
  close(): Promise<void>;
  /** Closes both immediately. */
  disconnect(): void;
}
