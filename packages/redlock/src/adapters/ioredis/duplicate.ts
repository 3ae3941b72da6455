import type { Args, Done } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { maxTimerDelay, type Timer } from "../../time/runtime.ts";
import { systemRuntime } from "../../time/system.ts";
import {
  checkMade,
  type OwnClient,
  type OwnEvents,
  type SubscriberClient,
  type SubscriberEvents,
  type UserClient,
} from "../own-client.ts";
import { boundedDelay } from "../reconnecting-client.ts";
import { hidden, isPatched, type Sender, withoutSecrets } from "../watched.ts";
import { callbackCommandsOf, deliverBy } from "./callback-command.ts";
import { withoutAdvice } from "./lost-connection.ts";

/**
 * The used part of an ioredis `Redis` or `Cluster`, versions 5 and 6. A type and not an import: the core
 * never loads ioredis.
 */
export interface IoredisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  readonly options: object;
  duplicate(...args: never[]): unknown;
  disconnect(): void;
  quit(): Promise<unknown>;
  // biome-ignore lint/suspicious/noExplicitAny: ioredis declares each event with arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** A client made by this adapter. */
interface DuplicateClient {
  status: string;
  readonly options: object;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
  call(command: string, args: readonly (string | number | Uint8Array)[]): Promise<unknown>;
  sendCommand(command: object, ...rest: unknown[]): Promise<unknown>;
  ping(message: string): Promise<unknown>;
  subscribe(channel: string | Uint8Array): Promise<unknown>;
  unsubscribe(channel: string | Uint8Array): Promise<unknown>;
  nodes?(role: "all"): readonly (Sender & { readonly options: IoredisOptions })[];
  // biome-ignore lint/suspicious/noExplicitAny: ioredis declares each event with arguments of its own.
  on(event: string, listener: (...args: any[]) => void): unknown;
}

export interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly name?: string | null;
  readonly sentinels?: readonly object[] | null;
  readonly keyPrefix?: string;
  readonly db?: number;
  readonly username?: string | null;
  readonly password?: string | null;
  readonly connectTimeout?: number;
  readonly sentinelCommandTimeout?: number;
  readonly enableReadyCheck?: boolean;
  readonly redisOptions?: IoredisOptions;
  readonly retryStrategy?: ((times: number) => unknown) | null;
  readonly clusterRetryStrategy?: ((times: number, reason?: Error) => unknown) | null;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

/** The options for a connection that sends immediately or not at all (PROTOCOL 2.2); ioredis documents each of them. */
const sendNowOrNever = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Rejects unanswered commands when the connection is lost. (Without resending alone, they would never
  // settle.)
  maxRetriesPerRequest: 0,
  // It may request that a command is resent. Its other requests are followed, see `Connection.onErrorReply`.
  reconnectOnError: null,
  enableAutoPipelining: false,
  // A loading server reports how long that takes, and ioredis waits up to 10 s for it: mostly far too long.
  maxLoadingRetryTime: 100,
  // The round has its own timeout, and late answers are still processed.
  commandTimeout: undefined,
  stringNumbers: false,
  replyMapping: "legacy",
  monitor: false,
  readOnly: false,
};

/**
 * The time that a server has to greet a new connection, ms, if the user's client sets none. The timeout of
 * ioredis covers only TCP.
 */
const defaultConnectTimeout = 10_000;

function connectTimeoutOf(options: object): number {
  return Math.min((options as IoredisOptions).connectTimeout || defaultConnectTimeout, maxTimerDelay);
}

/** As of `node:net`. */
interface Stream {
  readonly destroyed: boolean;
  readonly writableEnded: boolean;
  resetAndDestroy?(): void;
  destroy(): void;
}

function streamOf(client: object): Stream | undefined {
  return (client as { stream?: Stream | null }).stream ?? undefined;
}

/**
 * The time-out for a Sentinel is for the question where the master is. `failoverDetector` listens by clients of its own, which
 * have a second argument here: a time-out of theirs would be an error that nothing catches.
 */
function keepDetector(client: object, { sentinelCommandTimeout }: IoredisOptions): void {
  const { connector } = client as {
    connector?: { connectToSentinel?: (endpoint: object, options?: object) => object };
  };
  const connectTo = connector?.connectToSentinel?.bind(connector);
  if (!connectTo) return;
  connector!.connectToSentinel = (endpoint, options) =>
    connectTo(endpoint, options && { ...options, commandTimeout: sentinelCommandTimeout });
}

/**
 * A `Redis` like the user's, on a connection that sends immediately or not at all. Before each connect it
 * copies the user's options again, because passwords are rotated and masters move there. It reconnects for as
 * long as the user's client lives.
 */
export class Duplicate implements OwnClient {
  readonly client: DuplicateClient;
  /** Missing if this version of ioredis makes commands in an unknown way. */
  readonly deliver: UserClient["deliver"];
  readonly #userClient: IoredisClient;
  readonly #fixed: object;
  readonly #sentinels: string;
  /** Runs between the TCP connect and the greeting of the server. */
  #greetingTimer: Timer | undefined;

  /** `fixed`: the options that override the user's at any time. */
  constructor(
    userClient: IoredisClient,
    fixed: Readonly<Record<string, unknown>> & Pick<IoredisOptions, "keyPrefix">,
    events: Partial<OwnEvents> = {},
  ) {
    this.#userClient = userClient;
    this.#sentinels = sentinelsIn(userClient.options);
    const { enableReadyCheck } = userClient.options as IoredisOptions;
    this.#fixed = {
      ...sendNowOrNever,
      // If ioredis 5 awaits nothing else, it calls a connection ready before SELECT is answered (PROTOCOL 2.15). With its
      // ready check, this would be answered by a server that refuses connections, and ioredis ignore why.
      disableClientInfo: enableReadyCheck !== false,
      ...fixed,
      retryStrategy: (times: number) => this.#retryDelay(times),
    };
    this.client = duplicateOf(userClient)(this.#fixed);
    const { status, options } = this.client;
    if (options) this.#copyUserOptions();
    checkMade(this.client, { ...options, lazyConnect: status === "wait" }, this.#fixed);
    keepDetector(this.client, userClient.options);
    const make = callbackCommandsOf(this.client);
    this.deliver = make && deliverBy(make, fixed.keyPrefix ?? "");
    if (!make) untrace(this.client);
    this.client.on("connect", () => this.#awaitGreeting());
    this.client.on("ready", () => this.#greetingTimer?.cancel());
    this.client.on("close", () => this.#greetingTimer?.cancel());
    this.client.on("end", () => leaveSentinels(this.client));
    forward(this.client, { ...events, onReady: unlessClosed(this.client, events.onReady) });
    // ioredis would use the connection in database 0 (PROTOCOL 2.15). A server that runs a long script refuses SELECT.
    this.client.on("error", ({ command }: { command?: { name?: string } }) => {
      if (command?.name === "select") this.cut();
    });
  }

  connect(): Promise<unknown> {
    this.#copyUserOptions();
    return outside(() => this.client.connect());
  }

  /** By {@link deliver}, whose commands show no token to tracing tools and debug logs. */
  send(command: string, args: Args): Promise<unknown> {
    const { deliver, client } = this;
    if (!deliver) return call(client, command, args).catch(redirectionError);
    return new Promise((resolve, reject) => {
      const done: Done = (reply, error) => (error === undefined ? resolve(reply) : reject(error));
      deliver(client, { command, args }, done);
    });
  }

  cut(): void {
    const stream = streamOf(this.client);
    if (stream) outside(() => cut(stream));
  }

  drop(): void {
    this.cut();
    this.end();
  }

  end(): void {
    end(this.client);
  }

  #copyUserOptions(): void {
    const { options: users } = this.#userClient;
    const wanted: Record<string, unknown> = {
      ...users,
      // ioredis would wait for ever for a Sentinel that hangs, also after it was disconnected.
      sentinelCommandTimeout: (users as IoredisOptions).sentinelCommandTimeout ?? connectTimeoutOf(users),
      ...this.#fixed,
    };
    const options = this.client.options as Record<string, unknown>;
    for (const name of Object.keys(options)) if (!(name in wanted)) delete options[name];
    Object.assign(options, wanted);
  }

  #retryDelay(times: number): unknown {
    // Reconnecting ends with the user's client.
    if (isEnded(this.#userClient)) return null;
    const { options } = this.#userClient;
    // The sentinels of a client cannot be changed: the next call makes a new connection.
    if (sentinelsIn(options) !== this.#sentinels) return null;
    this.#copyUserOptions();
    return delayOf(() => (options as IoredisOptions).retryStrategy?.(times));
  }

  /** A server may accept connections and still hang, or the network may be cut by now. */
  #awaitGreeting(): void {
    const delay = connectTimeoutOf(this.#userClient.options);
    this.#greetingTimer?.cancel();
    this.#greetingTimer = systemRuntime.setTimer(() => this.cut(), delay);
    this.#greetingTimer.unref();
  }
}

/** A duplicate for subscriptions. */
export class SubscriberDuplicate extends Duplicate implements SubscriberClient {
  constructor(
    userClient: IoredisClient,
    fixed: Readonly<Record<string, unknown>> & Pick<IoredisOptions, "keyPrefix">,
    events: SubscriberEvents,
  ) {
    // `Subscriber` subscribes after each reconnect, once the master has answered.
    super(userClient, { ...fixed, autoResubscribe: false }, events);
    // A client that knows an inbox can publish a grant to it.
    if (this.deliver) untrace(this.client);
    this.client.on("message", events.onMessage);
  }

  ping(message: string): Promise<unknown> {
    return this.client.ping(message);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.client.subscribe(shown(this.client, channel));
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.client.unsubscribe(shown(this.client, channel));
  }
}

/**
 * Keeps the commands of a client off the tracing channels of ioredis, which would show tokens and inboxes: a token is
 * enough to release a lock.
 */
function untrace(client: DuplicateClient): void {
  if (isPatched(client)) watched.add(client);
  const sendCommand = client.sendCommand.bind(client);
  client.sendCommand = (command, ...rest) => sendCommand(Object.assign(command, { isTraced: true }), ...rest);
}

/** The clients that a tool watches. */
const watched = new WeakSet<DuplicateClient>();

function shown(client: DuplicateClient, channel: string): string | Uint8Array {
  return watched.has(client) ? hidden(channel) : channel;
}

/** In lower case: before version 5.9, and in iovalkey, ioredis knows the keys of such names only (prefix, hash slot). */
async function call(client: DuplicateClient, command: string, args: Args): Promise<unknown> {
  // A Cluster sends by the clients of its nodes.
  const isWatched = watched.has(client) || client.nodes?.("all").some(isPatched);
  const words = isWatched ? withoutSecrets([command, ...args.map(String)]).slice(1) : args;
  return client.call(command.toLowerCase(), words);
}

function forward(client: DuplicateClient, events: Partial<OwnEvents>): void {
  const { onDial, onReady, onClose, onEnd, onFailure } = events;
  if (onDial) client.on("connecting", onDial);
  if (onReady) client.on("ready", onReady);
  if (onClose) client.on("close", onClose);
  if (onEnd) client.on("end", onEnd);
  // Without a listener ioredis prints the error. (Where a connection is lost, one of our options is told behind the reason.)
  client.on("error", (error) => {
    if (withoutAdvice(error) === error) onFailure?.(error);
  });
}

/**
 * Without its ready check, ioredis 5 takes a connection that was closed during the greeting for ready, after it has
 * planned the next one; it then makes no other for ever. Its status is what it was before that.
 */
function unlessClosed(client: DuplicateClient, onReady: (() => void) | undefined): () => void {
  let next: string | undefined;
  client.on("connecting", () => {
    next = undefined;
  });
  for (const status of ["reconnecting", "end"])
    client.on(status, () => {
      next = status;
    });
  return () => {
    if (!streamOf(client)?.destroyed) onReady?.();
    // (Otherwise the close is still to come.)
    else if (next) client.status = next;
  };
}

function delayOf(strategy: () => unknown): unknown {
  try {
    const delay = outside(strategy);
    return typeof delay === "number" ? boundedDelay(delay) : delay;
  } catch {
    // ioredis would be stuck, and the error end the process. The next call makes a new connection.
    return null;
  }
}

/** Drops undelivered data as well, where possible: only for TCP without TLS. */
function cut(stream: Stream): void {
  // A reset fails while the stream is being shut down, and would leave it open for ever.
  if (stream.writableEnded) {
    stream.destroy();
    return;
  }
  try {
    stream.resetAndDestroy!();
  } catch {
    stream.destroy();
  }
}

/**
 * In ioredis 5 and 6, a client that is disconnected between two attempts to connect emits no "end"; it only records
 * that it was closed by hand.
 */
export function isEnded(client: IoredisClient): boolean {
  return client.status === "end" || (client as { manuallyClosing?: boolean }).manuallyClosing === true;
}

/** The interval at which a client that reconnects is asked whether it has ended, ms. */
const endCheckInterval = 500;

/** Calls `listener` whenever the user's client has ended, also without an event, see {@link isEnded}. */
export function onEnd(client: IoredisClient, listener: () => void): void {
  let timer: Timer | undefined;
  const check = (): void => {
    if (client.status === "ready" || client.status === "end") return;
    if (isEnded(client)) listener();
    else checkLater();
  };
  const checkLater = (): void => {
    timer?.cancel();
    timer = systemRuntime.setTimer(check, endCheckInterval);
    timer.unref();
  };
  client.on("end", listener);
  client.on("reconnecting", checkLater);
}

/** Does not disconnect an ended client: ioredis would wait 2 s for a close that has already happened. */
export function end(client: Pick<DuplicateClient, "status" | "disconnect">): void {
  if (client.status === "end") leaveSentinels(client);
  else outside(() => client.disconnect());
}

/**
 * Closes the connections on which `failoverDetector` listens to Sentinels. ioredis keeps them if a client ends otherwise
 * than by `disconnect`, such as where its retry strategy gives up.
 */
export function leaveSentinels(client: object): void {
  const { connector } = client as { connector?: { failoverDetector?: FailoverDetector | null } };
  const detector = connector?.failoverDetector;
  // As in {@link end}.
  if (detector && !detector.isDisconnected) outside(() => detector.cleanup());
}

interface FailoverDetector {
  readonly isDisconnected: boolean;
  cleanup(): void;
}

/** The maximum number of redirections: a moving slot needs no more. */
const maxRedirections = 3;

/**
 * A Cluster client connects to each master at the first command for one of its slots. Commands wait for that
 * in the order of the calls, so its offline queue stays on: a rollback is behind its SET here as well.
 * Resending after failures is disabled. ioredis still resends after TRYAGAIN (a slot with several of the keys
 * is moving), to any master; with these options it gives up at once, and each key alone can be locked
 * meanwhile.
 */
export class ClusterDuplicate implements OwnClient {
  readonly client: DuplicateClient;
  readonly #userClient: IoredisClient;
  readonly #credentials: string;

  constructor(userClient: IoredisClient, events: OwnEvents) {
    const { redisOptions, clusterRetryStrategy } = userClient.options as IoredisOptions;
    this.#userClient = userClient;
    this.#credentials = credentialsIn(userClient.options);
    const asked = {
      lazyConnect: true,
      clusterRetryStrategy: (...args: [number, Error?]) => delayOf(() => clusterRetryStrategy?.(...args)),
      enableOfflineQueue: true,
      enableAutoPipelining: false,
      retryDelayOnMoved: 0,
      retryDelayOnTryAgain: 0,
      maxRedirections,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      scaleReads: "master",
    };
    const ofNodes = { ...sendNowOrNever, enableOfflineQueue: true };
    this.client = duplicateOf(userClient)([], { ...asked, redisOptions: { ...redisOptions, ...ofNodes } });
    const options: IoredisOptions | undefined = this.client.options;
    checkMade(this.client, { ...options, ...options?.redisOptions }, { ...ofNodes, ...asked });
    untrace(this.client);
    forward(this.client, events);
    // Emitted for one node. The credentials of a Cluster client cannot be changed.
    this.client.on("node error", () => {
      if (credentialsIn(this.#userClient.options) !== this.#credentials) events.onOutdated();
    });
  }

  get addresses(): readonly string[] {
    return this.client.nodes!("all").map(({ options }) => `${options.host}:${options.port}`);
  }

  connect(): Promise<unknown> {
    return outside(() => this.client.connect());
  }

  async send(command: string, args: Args): Promise<unknown> {
    return call(this.client, command, args).catch(redirectionError);
  }

  /** A Cluster has many connections and replaces them itself: `socketTimeout` detects silent ones. */
  cut(): void {}

  drop(): void {
    this.end();
  }

  end(): void {
    end(this.client);
  }
}

/**
 * ioredis replaces the masters' replies by its own error after too many redirections. They were reached: the
 * slot is moving.
 */
function redirectionError(error: unknown): never {
  if (!(error instanceof Error && error.message.startsWith("Too many Cluster redirections")))
    throw withoutAdvice(error);
  throw new Error(`TRYAGAIN the hash slot moves (${error.message})`);
}

function credentialsIn(options: object): string {
  const { username, password } = (options as IoredisOptions).redisOptions ?? {};
  return JSON.stringify([username, password]);
}

function duplicateOf(client: IoredisClient): (...args: unknown[]) => DuplicateClient {
  return client.duplicate.bind(client) as (...args: unknown[]) => DuplicateClient;
}

function sentinelsIn(options: object): string {
  return JSON.stringify((options as IoredisOptions).sentinels ?? []);
}
