import { InvalidArgumentError } from "../errors.ts";
import type { Args, Done, Message } from "../redis/connection.ts";
import type { Dials } from "./dials.ts";

/** The run id in the reply to INFO. Some proxies return one of zeros. */
export function runIdIn(info: unknown): string | undefined {
  return /^run_id:(?!0+\r?$)(\S+)/m.exec(String(info))?.[1];
}

/**
 * Throws unless a client that its library, or a wrapper of it, has made has the options that were asked for: without them
 * it would send commands again (PROTOCOL 2.2).
 */
export function checkMade(made: unknown, options: unknown, asked: object): void {
  const has = (options ?? {}) as Readonly<Record<string, unknown>>;
  const missing = Object.entries(asked).find(([name, value]) => value !== undefined && has[name] !== value);
  if (!missing) return;
  // (A wrapper may have made a promise of it.)
  Promise.resolve(made)
    .then((client) => (client as { disconnect?(): unknown }).disconnect?.())
    .catch(() => {});
  throw new InvalidArgumentError(
    `its duplicate() drops the option ${missing[0]}, which locks need: pass the client itself, and no wrapper of it`,
  );
}

/** The client that the user passed, as the adapter of its library presents it. */
export interface UserClient {
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
  /** As in `Connection.deliver`, on a client that {@link open} has made. Known from the first such client on. */
  readonly deliver: ((own: object, message: Message, done: Done) => void) | undefined;
  /** Makes a client like this one, which sends immediately or not at all. */
  open(database: number | undefined, events: OwnEvents): OwnClient;
  /** Makes one for subscriptions only. */
  openSubscriber(database: number | undefined, events: SubscriberEvents): SubscriberClient;
  watch(events: UserEvents): void;
  /** The connections that it has made or is making, as far as it shows them. */
  readonly dials: Dials;
  /** Whether the user wants to reconnect after this error reply. Calls a function of the user. */
  reconnectsOnError(error: Error): boolean;
  isErrorReply(error: unknown): error is Error;
  /** Closes it after pending commands. It is connected. */
  close(): Promise<unknown>;
  disconnect(): void;
}

export interface UserEvents {
  /** It is connected, perhaps to another server than before. */
  readonly onReady: () => void;
  readonly onSelect: (database: number) => void;
  readonly onEnd: () => void;
}

/**
 * A client that an adapter makes. Its library, or the adapter, reconnects it for as long as the user's client
 * lives. A command that was sent on one connection is never sent again on the next.
 */
export interface OwnClient {
  /** Its `status` is "wait" before the first {@link connect}, "ready" when it can send, "end" when it is over. */
  readonly client: { readonly status: string };
  connect(): Promise<unknown>;
  send(command: string, args: Args): Promise<unknown>;
  /** The addresses of all masters and replicas; missing for a single master. */
  readonly addresses?: readonly string[];
  /** Closes the connection immediately and makes another. Undelivered commands are dropped where possible. */
  cut(): void;
  /** Like {@link cut}, without reconnecting. */
  drop(): void;
  /** Ends the client after what was just sent. */
  end(): void;
}

export interface OwnEvents {
  /** It begins to make a connection: from now on it may look for the address. */
  readonly onDial: () => void;
  readonly onReady: () => void;
  readonly onClose: () => void;
  readonly onEnd: () => void;
  readonly onFailure: (error: unknown) => void;
  /** The user's options have changed in a way that needs another client. */
  readonly onOutdated: () => void;
}

/** A client for subscriptions. */
export interface SubscriberClient extends Pick<OwnClient, "client" | "connect" | "cut" | "end"> {
  ping(message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export interface SubscriberEvents extends Pick<OwnEvents, "onDial" | "onReady" | "onClose"> {
  readonly onMessage: (channel: string, message: string) => void;
}
