import type { Dials } from "./dials.ts";
import type { Link, OnMessage, SubscriberLink } from "./link.ts";

/** The run id in the reply to INFO. Some proxies return one of zeros. */
export function runIdIn(info: unknown): string | undefined {
  return /^run_id:(?!0+\r?$)(\S+)/m.exec(String(info))?.[1];
}

/** The client that the user passed, as its library has it, and the links that it makes by its `duplicate`. */
export interface Driver {
  readonly client: object;
  /** `host:port`, or as near to it as the client knows. */
  readonly name: string;
  /** The prefix that the library puts before each key. */
  readonly keyPrefix: string;
  readonly isCluster: boolean;
  /** "wait" if it has not connected yet, "end" if it was closed. Any other value: it is connected, or will be. */
  readonly status: string;
  /** The current database. A Cluster has only one. */
  readonly database: number | undefined;
  /**
   * Asks the server for the database of the user's connection, if {@link database} may be one that the server has
   * refused. `undefined` if it is certain; resolves to `undefined` if the server does not say it in time.
   */
  askDatabase?(): Promise<number | undefined> | undefined;
  /**
   * Asks the server of the user's connection for its INFO. Resolves to something else or rejects if it does not say it, and
   * perhaps never settles: another command may block the client.
   */
  askServer?(): Promise<unknown>;
  /** Whether a Sentinel tells the address of each connection: it knows of a failover before the client does. */
  readonly isDirected?: boolean;
  /** Whether a new server is asked for its id: some proxies close the connection instead of answering. */
  readonly asksServer: boolean;
  /**
   * Makes a link with the user's options as they are now. Throws if the library, or a wrapper of the client, refuses them
   * or those of {@link Link}.
   */
  open(database: number | undefined): Link;
  /** Makes one for subscriptions only. */
  openSubscriber(database: number | undefined, onMessage: OnMessage): SubscriberLink;
  /** The time that a server has to greet a connection that it has accepted, ms. */
  readonly greetingTime: number;
  /** The time that the dial itself may take, ms; missing where the library limits it. */
  readonly dialTime?: number;
  /**
   * The delay of the user's client before the next connection, ms, after this number of failures in a row (0: the last
   * connection has served); `undefined` if it would give up. Calls a function of the user.
   */
  delayAfter(failures: number, cause: Error): number | undefined;
  watch(events: DriverEvents): void;
  /** The connections that the client has made or is making, as far as it shows them. */
  readonly dials: Dials;
  /** Whether the user wants to reconnect after this error reply. Calls a function of the user. */
  reconnectsOnError(error: Error): boolean;
  isErrorReply(error: unknown): error is Error;
  /** Closes it after pending commands. It is connected. */
  close(): Promise<unknown>;
  disconnect(): void;
}

export interface DriverEvents {
  /** It is connected, perhaps to another server than before. */
  readonly onReady: () => void;
  readonly onSelect: (database: number) => void;
  readonly onEnd: () => void;
}

/** The time that a server has to accept a connection, and then to greet it, ms, if the user's client sets none. */
export const defaultConnectTimeout = 10_000;
