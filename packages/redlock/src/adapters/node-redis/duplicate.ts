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
  sendCommand(...args: never[]): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: node-redis declares each event with arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown;
}

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
    readonly reconnectStrategy?: number | false | ((retries: number, cause: Error) => unknown);
  };
}

/** The user's client, with its state and its prefix. */
interface NodeRedis extends Pick<UserClient, "status" | "keyPrefix"> {
  readonly client: NodeRedisClient;
}

/** A client made by this adapter. */
interface DuplicateClient extends Omit<NodeRedisClient, "sendCommand"> {
  sendCommand(words: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * The options for a connection that sends immediately or not at all, in the order of the calls, and returns
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
  readonly #user: NodeRedis;
  readonly #database: number | undefined;
  readonly #events: Partial<OwnEvents>;
  /** The current connection. */
  protected current: DuplicateClient | undefined;
  #lostBecause: unknown;
  /** For the greeting of the server, or the next attempt to connect. */
  #timer: Timer | undefined;
  #failures = 0;
  #readyAt = 0;

  constructor(user: NodeRedis, database: number | undefined, events: Partial<OwnEvents>) {
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
    if (current) destroy(current);
    this.#events.onClose?.();
    this.#events.onEnd?.();
  }

  /** node-redis writes what was asked for in this turn at its end. */
  end(): void {
    if (this.status === "end") return;
    const { current } = this;
    this.#onOver();
    afterTurn(() => {
      if (current) outside(() => destroy(current));
      this.#events.onClose?.();
      this.#events.onEnd?.();
    });
  }

  #onOver(): void {
    this.status = "end";
    this.current = undefined;
    this.#timer?.cancel();
  }

  #connect(): void {
    this.status = "connecting";
    const options = optionsOf(this.#user.client);
    let client: DuplicateClient | undefined;
    const onLost = (error: unknown): void => {
      if (client) this.#onLost(client, error);
    };
    const reconnectStrategy = (_: number, cause: unknown): number => {
      onLost(cause);
      return 0;
    };
    client = outside(() =>
      duplicateOf(this.#user.client)({
        ...sendNowOrNever,
        // An address in the options wins over all other options.
        url: undefined,
        database: this.#database,
        // A server that accepts connections and does nothing more must not pass for one that is ready.
        disableClientInfo: options.RESP === 3 && options.disableClientInfo,
        // An idle connection is a good one.
        socket: { ...options.socket, socketTimeout: undefined, reconnectStrategy },
      }),
    ) as DuplicateClient;
    this.current = client;
    client.on("connect", () => this.#awaitGreeting());
    client.on("ready", () => this.#onReady(client));
    client.on("error", onLost);
    this.#awaitGreeting();
    outside(() => client.connect()).catch(onLost);
  }

  /** A server may accept connections and still hang: the time-out of node-redis covers only TCP. */
  #awaitGreeting(): void {
    const connectTimeout = optionsOf(this.#user.client).socket?.connectTimeout || defaultConnectTimeout;
    this.#timer?.cancel();
    const late = new Error(`the server has not greeted the connection for ${connectTimeout} ms`);
    this.#timer = systemRuntime.setTimer(() => {
      if (this.current) this.#onLost(this.current, late);
    }, connectTimeout);
    this.#timer.unref();
  }

  #onReady(client: DuplicateClient): void {
    if (client !== this.current) return;
    this.#timer?.cancel();
    this.status = "ready";
    this.#readyAt = systemRuntime.monotonic();
    this.#events.onReady?.();
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
    outside(() => destroy(client));
    this.#events.onError?.(error);
    this.#events.onClose?.();
    this.#failures = lived ? 0 : this.#failures + 1;
    const delay = this.#user.status === "end" ? undefined : this.#delay(error);
    if (delay === undefined) {
      this.status = "end";
      this.#events.onEnd?.();
    } else this.#timer = systemRuntime.setTimer(() => this.#connect(), delay);
  }

  /** Like the user's client; `undefined`: gives up. */
  #delay(error: unknown): number | undefined {
    if (this.#failures === 0) return 0;
    const strategy = optionsOf(this.#user.client).socket?.reconnectStrategy;
    const cause = error instanceof Error ? error : new Error(String(error));
    let wanted: unknown = strategy;
    try {
      if (typeof strategy === "function") wanted = outside(() => strategy(this.#failures - 1, cause));
    } catch {
      // As in node-redis, the default takes the place of a function that throws.
      wanted = undefined;
    }
    if (wanted === undefined) {
      const jitter = (systemRuntime.randomBytes(1)[0]! / 255) * maxJitter;
      return Math.min(minDelay * 2 ** (this.#failures - 1), maxDelay) + jitter;
    }
    return typeof wanted === "number" && wanted >= 0 ? Math.max(wanted, minDelay) : undefined;
  }

  /** The error of a command. Those of a lost connection get the reason of the loss. */
  #reasonOf(error: unknown, client: DuplicateClient): unknown {
    return client === this.current || isErrorReply(error) ? error : (this.#lostBecause ?? error);
  }
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
    return this.current!.subscribe(channel, (message) => this.#onMessage(channel, message));
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.current!.unsubscribe(channel);
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

/** Pending commands are rejected. Throws in node-redis 5 if the client was closed meanwhile. */
export function destroy(client: Pick<NodeRedisClient, "destroy">): void {
  try {
    client.destroy();
  } catch {
    // It is closed.
  }
}

function duplicateOf(client: NodeRedisClient): (overrides: object) => unknown {
  return client.duplicate.bind(client) as (overrides: object) => unknown;
}
