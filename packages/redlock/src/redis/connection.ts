export type Args = readonly (string | number)[];

/** Told what comes of a command, once; `error` is `undefined` where it is a reply. */
export type Done = (reply: unknown, error?: unknown) => void;

/** What an adapter supplies for one client library: a FIFO way to one master that sends now or not at all. */
export interface Connection {
  /** `host:port`. */
  readonly name: string;
  /** What the user passed. */
  readonly client: object;
  /** Whether a command can be sent now. */
  readonly isReady: boolean;
  /**
   * Names the connection that stands: another number for each connection, and for each database that commands go to. It
   * changes before anything can be sent on the next, and while it stays and {@link isReady} holds, so does the connection.
   */
  readonly session: number;
  /** Why none can, in words. */
  readonly notReadyReason: string;
  /**
   * Makes the first connection, where there has been none: settles when it stands or has failed. `undefined`
   * where there has been one, and to connect again is the client library's part.
   */
  connectFirst(): Promise<void> | undefined;
  /**
   * Sends at once, on the connection that stands; where none does it rejects, and makes none. Resolves to the reply, rejects
   * with the master's error or the connection's.
   */
  send(command: string, args: Args): Promise<unknown>;
  /**
   * The same without a promise: `done` is called once, after this has returned, with the reply or with the error. Missing
   * where the client library has nothing that costs less than its promises. The same `args` may be given to several
   * connections, and are never changed.
   */
  readonly ask?: ((command: string, args: Args, done: Done) => void) | undefined;
  /**
   * The master has answered with this error. Where it says that the server is the wrong one, or the user's client would
   * connect again because of it, the connection is replaced; nothing is sent again.
   */
  complain?(error: Error): void;
  /** Whether a rejection is the master's own answer (an error reply) and not the connection's failure. */
  isReply(error: unknown): error is Error;
  /** Why these resources cannot be locked here, or not together: see {@link LockNode.refuses}. Or nothing. */
  refuses?(resources: readonly string[]): string | undefined;
  /** The hash slot of a key, where those of different slots cannot be in one command; `forced`: it has been seen so. */
  slotOf?(key: string, forced: boolean): number | undefined;
  /**
   * Listens to a channel from now on, on a connection of its own that ends with this one. `changed` is called when it
   * is known whether that works, and whenever it changes; with the master's error where it refuses. What is returned has
   * to be kept: listening may end when nobody has it any more.
   */
  subscribe?(
    channel: string,
    hear: (message: string) => void,
    changed: (isListening: boolean, error?: unknown) => void,
  ): unknown;
  /** The database that commands go to, where there are several. */
  readonly database?: number | undefined;
  /**
   * What names the server that the present connection leads to, or the servers of a Cluster: known before `onReady` is told,
   * and so before anything is sent. Missing or empty where it cannot be told.
   */
  readonly serverIds?: readonly string[];
  /**
   * Calls `listener` whenever the client is switched to another database: at once, and from then on nothing is sent to
   * the one before but through `old`, which stands for a little while. The listener is called for as long as whoever
   * gave it keeps it.
   */
  onMove?(listener: (why: string, old: Connection) => void): void;
  /** Called whenever commands can be sent again. Returns how to take the listener away. */
  onReady(listener: () => void): () => void;
  /** Ends the connection, and the user's client, in order. */
  close(): Promise<void>;
  /** Ends both at once. */
  disconnect(): void;
}
