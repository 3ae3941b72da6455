import type { Args, Done } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import type { Timer } from "../../time/runtime.ts";
import { afterTurn, systemRuntime } from "../../time/system.ts";
import type { OwnClient, OwnEvents, SubscriberClient, SubscriberEvents, UserClient } from "../own-client.ts";
import { wordsOf } from "./key-prefix.ts";

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
interface NodeRedis extends Pick<UserClient, "keyPrefix" | "status"> {
  readonly client: NodeRedisClient;
}

/** A client made by this adapter, for one connection. */
export interface DuplicateClient extends Pick<NodeRedisClient, "connect" | "destroy" | "on"> {
  sendCommand(words: readonly string[]): Promise<unknown>;
}

interface SubscribingClient extends DuplicateClient {
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * The options for a connection that sends immediately or not at all (PROTOCOL 2.2), in order, and returns
 * replies as they are. node-redis documents each of them.
 */
export const sendNowOrNever = {
  // Without it, commands wait for a connection, and are sent late.
  disableOfflineQueue: true,
  // The user's may reorder commands (`asap`), drop some of them (`abortSignal`), or change replies
  // (`typeMapping`). A time-out ends only commands that were not sent yet, and costs a timer for each.
  commandOptions: { timeout: 0, typeMapping: {} },
  // A server that announces its maintenance gets unsent commands later, on another connection.
  maintNotifications: "disabled",
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: undefined,
  readonly: false,
};

/** The time that a server has to accept a connection and to greet it, ms, if the user's client sets none. */
const defaultConnectTimeout = 10_000;
/** A connection that lived shorter than this was not accepted in earnest, ms: the next one waits. */
const minLifetime = 1000;
/** The minimum delay after such a connection, ms, whatever the user's client does. */
const minDelay = 50;
/** The default delays of node-redis, ms. */
const maxDelay = 2000;
const maxJitter = 200;

/**
 * Clients like the user's, one for each connection: a client of node-redis that reconnects cannot be cut
 * without its end, and nothing that was asked of one can be sent by another. Each has the user's options as
 * they are then. Ends with the user's client.
 */
export class Duplicate implements OwnClient {
  status = "wait";
  readonly client: this = this;
  protected readonly userClient: NodeRedisClient;
  readonly #user: NodeRedis;
  readonly #database: number | undefined;
  readonly #events: Partial<OwnEvents>;
  /** The current connection. */
  protected current: DuplicateClient | undefined;
  #lostBecause: unknown;
  /** The clients that have begun to connect. */
  readonly #connecting = new WeakSet<DuplicateClient>();
  /** For the greeting of the server, or the next attempt to connect. */
  #timer: Timer | undefined;
  #failures = 0;
  #readyAt = 0;

  constructor(user: NodeRedis, database: number | undefined, events: Partial<OwnEvents>) {
    this.userClient = user.client;
    this.#user = user;
    this.#database = database;
    this.#events = events;
  }

  connect(): Promise<void> {
    this.#connect();
    return Promise.resolve();
  }

  send(command: string, args: Args): Promise<unknown> {
    const client = this.current!;
    return client.sendCommand(wordsOf(command, args, this.#user.keyPrefix)).catch((error: unknown) => {
      throw this.#reasonOf(error, client);
    });
  }

  ask(command: string, args: Args, done: Done): void {
    const client = this.current!;
    client
      .sendCommand(wordsOf(command, args, this.#user.keyPrefix))
      .then(done, (error: unknown) => done(undefined, this.#reasonOf(error, client)));
  }

  cut(): void {
    if (this.current) this.#onLost(this.current, new Error("the connection was replaced"));
  }

  drop(): void {
    const { current } = this;
    this.#onOver();
    if (current) this.#destroy(current);
    this.#events.onClose?.();
    this.#events.onEnd?.();
  }

  /** node-redis writes what was asked for in this turn at its end, a Cluster one turn later. */
  end(): void {
    if (this.status === "end") return;
    const { current } = this;
    this.#onOver();
    const close = (): void => {
      if (current) this.#destroy(current);
      this.#events.onClose?.();
      this.#events.onEnd?.();
    };
    afterTurn(() => afterTurn(close));
  }

  #onOver(): void {
    this.status = "end";
    this.current = undefined;
    this.#timer?.cancel();
  }

  /** The user's options for a connection, as they are now. */
  protected get options(): NodeRedisOptions {
    return optionsOf(this.userClient);
  }

  protected duplicate(overrides: object): unknown {
    const duplicate = this.userClient.duplicate.bind(this.userClient) as (overrides: object) => unknown;
    return outside(() => duplicate(overrides));
  }

  /** Makes a client for one connection. `onLost`: ends it. */
  protected make(onLost: (error: unknown) => void, _connectTimeout: number): DuplicateClient {
    const { RESP, disableClientInfo, socket } = this.options;
    const reconnectStrategy = (_: number, cause: unknown): number => {
      onLost(cause);
      return 0;
    };
    const client = this.duplicate({
      ...sendNowOrNever,
      // An address in the options wins over all other options.
      url: undefined,
      database: this.#database,
      // A server that accepts connections and does nothing more must not pass for one that is ready.
      disableClientInfo: RESP === 3 && disableClientInfo,
      // An idle connection is a good one.
      socket: { ...socket, socketTimeout: undefined, reconnectStrategy },
    });
    return client as DuplicateClient;
  }

  #connect(): void {
    this.status = "connecting";
    const connectTimeout = this.options.socket?.connectTimeout || defaultConnectTimeout;
    const onLost = (error: unknown): void => {
      this.#connecting.delete(client);
      if (client === this.current) this.#onLost(client, error);
      else this.#destroy(client);
    };
    const client: DuplicateClient = this.make(onLost, connectTimeout);
    this.current = client;
    this.#connecting.add(client);
    client.on("connect", () => {
      this.#connecting.delete(client);
      if (client === this.current) this.#awaitGreeting(client, connectTimeout);
      else this.#destroy(client);
    });
    client.on("ready", () => this.#onReady(client));
    client.on("error", onLost);
    this.#awaitGreeting(client, connectTimeout);
    outside(() => client.connect()).catch(onLost);
  }

  /** A server may accept connections and still hang: the time-out of node-redis covers only TCP. */
  #awaitGreeting(client: DuplicateClient, connectTimeout: number): void {
    const late = `the server has not greeted the connection for ${connectTimeout} ms`;
    this.#timer?.cancel();
    this.#timer = systemRuntime.setTimer(() => this.#onLost(client, new Error(late)), connectTimeout);
    this.#timer.unref();
  }

  #onReady(client: DuplicateClient): void {
    if (client !== this.current) return;
    this.#timer?.cancel();
    this.status = "ready";
    this.#readyAt = systemRuntime.monotonic();
    this.#events.onReady?.();
  }

  /** A client of node-redis 5 or 6 that is destroyed while it connects stays connected for ever: it is destroyed then. */
  #destroy(client: DuplicateClient): void {
    if (!this.#connecting.has(client)) outside(() => destroy(client));
  }

  /** Any error of a client ends its connection. */
  #onLost(client: DuplicateClient, error: unknown): void {
    if (client !== this.current) return;
    const wasReady = this.status === "ready";
    const lived = wasReady && systemRuntime.monotonic() - this.#readyAt >= minLifetime;
    this.#timer?.cancel();
    this.current = undefined;
    this.status = "reconnecting";
    this.#lostBecause = error;
    this.#destroy(client);
    this.#events.onFailure?.(error);
    this.#events.onClose?.();
    this.#failures = lived ? 0 : this.#failures + 1;
    const delay = this.#delayAfter(error);
    if (delay === undefined) {
      this.status = "end";
      this.#events.onEnd?.();
    } else this.#timer = systemRuntime.setTimer(() => this.#connect(), delay);
  }

  /** `undefined` if the user's client is closed, or would give up. */
  #delayAfter(error: unknown): number | undefined {
    if (this.#user.status === "end") return undefined;
    if (this.#failures === 0) return 0;
    const cause = error instanceof Error ? error : new Error(String(error));
    return retryDelay(this.options.socket?.reconnectStrategy, this.#failures - 1, cause);
  }

  /** The error of a command. Those of a lost connection get the reason of the loss. */
  #reasonOf(error: unknown, client: DuplicateClient): unknown {
    return client === this.current || isErrorReply(error) ? error : (this.#lostBecause ?? error);
  }
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
  return typeof delay === "number" && delay >= 0 ? Math.max(delay, minDelay) : undefined;
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
    return (this.current as SubscribingClient).subscribe(channel, (message) =>
      this.#onMessage(channel, message),
    );
  }

  unsubscribe(channel: string): Promise<unknown> {
    return (this.current as SubscribingClient).unsubscribe(channel);
  }
}

export function optionsOf(client: NodeRedisClient): NodeRedisOptions {
  return (client as { options?: NodeRedisOptions }).options ?? {};
}

/** Whether the master has sent this error. There may be several copies of the class, so its name counts. */
export function isErrorReply(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  for (let type = error.constructor; typeof type === "function"; type = Object.getPrototypeOf(type)) {
    if (type.name === "ErrorReply") return true;
  }
  // A minifier has renamed it. Errors of Redis begin with a code in capital letters, those of a socket have
  // one as a property.
  return !("code" in error) && error.name === "Error" && /^[A-Z][A-Z0-9]{2,} /.test(error.message);
}

/** A client of node-redis 6 that was destroyed while it connected can be destroyed again. (One of 5 cannot.) */
export function destroyConnected(client: Pick<NodeRedisClient, "destroy">): void {
  afterTurn(() => outside(() => destroy(client)));
}

/** Pending commands are rejected. Throws in node-redis 5 if the client was closed meanwhile. */
export function destroy(client: Pick<NodeRedisClient, "destroy">): void {
  try {
    client.destroy();
  } catch {
    // It is closed.
  }
}
