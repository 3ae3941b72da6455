import type { Args } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { systemRuntime } from "../../time/system.ts";
import {
  checkMade,
  type OwnEvents,
  type SubscriberClient,
  type SubscriberEvents,
  type UserClient,
} from "../own-client.ts";
import {
  boundedDelay,
  defaultConnectTimeout,
  minDelay,
  ReconnectingClient,
  type SingleConnection,
  type SingleConnectionEvents,
} from "../reconnecting-client.ts";
import { untraced, wordsOf } from "./words.ts";

/**
 * The used part of a node-redis client (`createClient`) or Cluster (`createCluster`), versions 5 and 6. A type
 * and not an import: the core never loads node-redis.
 */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(...args: never[]): unknown;
  /** Not a Sentinel client, which sends commands again. */
  readonly getSentinelNode?: undefined;
  sendCommand(...args: never[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: node-redis declares each event with arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown;
}

type ReconnectStrategy = number | false | ((retries: number, cause: Error) => unknown) | undefined;

export interface NodeRedisOptions {
  readonly RESP?: number;
  readonly url?: string;
  readonly database?: number;
  readonly keyPrefix?: string | Uint8Array;
  readonly disableClientInfo?: boolean;
  readonly socket?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly connectTimeout?: number;
    readonly reconnectStrategy?: ReconnectStrategy;
  };
}

/** The user's client, with its prefix. */
export interface NodeRedis extends Pick<UserClient, "keyPrefix" | "status" | "isErrorReply"> {
  readonly client: NodeRedisClient;
}

/** The used part of a client that this adapter makes. */
interface OneClient extends Pick<NodeRedisClient, "connect" | "destroy" | "on"> {
  sendCommand(words: readonly (string | Uint8Array)[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * The options for a connection that sends immediately or not at all (PROTOCOL 2.2), in order, and returns
 * replies as they are. node-redis documents each of them.
 */
export const sendNowOrNever = {
  // Without it, commands wait for a connection, and are sent late: by the nodes of a Cluster, which reconnect
  // by themselves. (Any other client is destroyed at its first error, and what waits is rejected.)
  disableOfflineQueue: true,
  // The user's may reorder commands (`asap`), drop some of them (`abortSignal`), or change replies
  // (`typeMapping`). A time-out ends only commands that were not sent yet, and costs a timer for each.
  commandOptions: { timeout: 0 },
  // A server that announces its maintenance gets unsent commands later, on another connection.
  maintNotifications: "disabled",
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: undefined,
  readonly: false,
};

/** The default delays of node-redis, ms. */
const maxDelay = 2000;
const maxJitter = 200;

/** Clients like the user's, one for each connection: the connection of a node-redis client cannot be cut without ending the client. */
export class Duplicate extends ReconnectingClient<SingleClient> {
  readonly #user: NodeRedis;
  readonly #database: number | undefined;

  constructor(user: NodeRedis, database: number | undefined, events: Partial<OwnEvents>) {
    super(user, events);
    this.#user = user;
    this.#database = database;
  }

  protected override open(events: SingleConnectionEvents): SingleClient {
    return new SingleClient(this.#user, this.#database, events);
  }

  protected override get connectTimeout(): number {
    return optionsOf(this.#user.client).socket?.connectTimeout || defaultConnectTimeout;
  }

  protected override delayAfter(retries: number, cause: Error): number | undefined {
    return retryDelay(optionsOf(this.#user.client).socket?.reconnectStrategy, retries, cause);
  }
}

/** A client with the user's options as they are now, for one connection. */
class SingleClient implements SingleConnection {
  readonly client: OneClient;
  readonly #keyPrefix: string;
  readonly #onLost: (error: unknown) => void;
  #isConnecting = false;
  #isOver = false;

  constructor(user: NodeRedis, database: number | undefined, events: SingleConnectionEvents) {
    this.#keyPrefix = user.keyPrefix;
    this.#onLost = (error) => {
      this.#isConnecting = false;
      if (this.#isOver) this.destroy();
      events.onLost(error);
    };
    const { RESP, disableClientInfo, socket } = optionsOf(user.client);
    const reconnectStrategy = (_: number, cause: unknown): number => {
      this.#onLost(cause);
      return 0;
    };
    this.client = duplicateOf(user.client, {
      ...sendNowOrNever,
      database,
      // A server that accepts connections but never answers must not count as ready.
      disableClientInfo: RESP === 3 && disableClientInfo,
      // Idle connections are kept. (The address of the url wins: others may have written theirs into a socket object that
      // they share.)
      socket: { ...socket, socketTimeout: undefined, reconnectStrategy },
    }) as OneClient;
    const made = optionsOf(this.client as unknown as NodeRedisClient);
    checkMade(this.client, { ...made, ...made.socket }, { ...sendNowOrNever, database, reconnectStrategy });
    this.client.on("connect", () => {
      this.#isConnecting = false;
      if (this.#isOver) this.destroy();
      else events.onAccepted();
    });
    this.client.on("ready", events.onReady);
    this.client.on("error", this.#onLost);
  }

  async connect(): Promise<void> {
    this.#isConnecting = true;
    await outside(() => this.client.connect()).catch(this.#onLost);
  }

  send(command: string, args: Args): Promise<unknown> {
    return this.client.sendCommand(untraced(wordsOf(command, args, this.#keyPrefix), this.client));
  }

  /** A client of node-redis 5 or 6 that is destroyed while it connects stays connected: it is destroyed again once connected. */
  destroy(): void {
    this.#isOver = true;
    if (!this.#isConnecting) destroy(this.client);
  }
}

/** Makes a client like the user's. */
export function duplicateOf(client: NodeRedisClient, overrides: object): unknown {
  const duplicate = client.duplicate.bind(client) as (overrides: object) => unknown;
  return outside(() => duplicate(overrides));
}

/** The delay of the user's client, but no shorter than {@link minDelay}; `undefined` if it would give up. */
export function retryDelay(strategy: ReconnectStrategy, retries: number, cause: Error): number | undefined {
  let delay: unknown = strategy;
  try {
    if (typeof strategy === "function") delay = outside(() => strategy(retries, cause));
  } catch {
    // As in node-redis, the default takes the place of a function that throws.
    delay = undefined;
  }
  if (delay === undefined) {
    const jitter = (systemRuntime.randomBytes(1)[0]! / 255) * maxJitter;
    return Math.min(minDelay * 2 ** retries, maxDelay) + jitter;
  }
  return typeof delay === "number" && delay >= 0 ? boundedDelay(delay) : undefined;
}

/** A duplicate for subscriptions. */
export class SubscriberDuplicate extends Duplicate implements SubscriberClient {
  readonly #onMessage: SubscriberEvents["onMessage"];

  constructor(user: NodeRedis, database: number | undefined, events: SubscriberEvents) {
    super(user, database, events);
    this.#onMessage = events.onMessage;
  }

  ping(message: string): Promise<unknown> {
    return this.send("PING", [message]);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.current!.client.subscribe(channel, (message) => this.#onMessage(channel, message));
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.current!.client.unsubscribe(channel);
  }
}

export function optionsOf(client: NodeRedisClient): NodeRedisOptions {
  return (client as { options?: NodeRedisOptions }).options ?? {};
}

/**
 * Whether the master has sent this error. Errors of the system have a `code`, and node-redis writes sentences. (A bundler
 * renames classes, and there may be several copies of each.)
 */
export function isErrorReply(error: unknown): error is Error {
  return error instanceof Error && !("code" in error) && !/^[A-Z][a-z]/.test(error.message);
}

/** Pending commands are rejected. Throws in node-redis 5 if the client was closed meanwhile. */
export function destroy(client: Pick<NodeRedisClient, "destroy">): void {
  try {
    client.destroy();
  } catch {
    // It is closed.
  }
}
