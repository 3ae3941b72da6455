import type { Done, Message } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { maxTimerDelay } from "../../time/runtime.ts";
import { defaultConnectTimeout } from "../driver.ts";
import {
  ClientLink,
  checkMade,
  duplicateOf,
  type Link,
  type LinkEvents,
  Lost,
  type OnMessage,
  type SubscriberLink,
} from "../link.ts";
import { hidden, withoutSecrets } from "../watched.ts";
import { callbackCommandsOf, deliverBy, withoutAdvice } from "./callback-command.ts";
import type { IoredisClient, IoredisOptions } from "./client.ts";
import { withoutPath } from "./names.ts";
import { cut, type SendingClient, untrace } from "./private.ts";

/** A client made by this adapter. */
interface OwnClient extends Pick<IoredisClient, "status" | "on" | "disconnect" | "options"> {
  connect(): Promise<unknown>;
  call(command: string, args: readonly (string | number | Uint8Array)[]): Promise<unknown>;
  ping(message: string): Promise<unknown>;
  subscribe(channel: Uint8Array): Promise<unknown>;
  unsubscribe(channel: Uint8Array): Promise<unknown>;
  nodes?(role: "all"): ReadonlyArray<{ readonly options: IoredisOptions }>;
}

/** The options for one connection that sends immediately or not at all (PROTOCOL 2.2); ioredis documents each of them. */
const sendNowOrNever = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Rejects unanswered commands when the connection is lost. (Without resending alone, they would never
  // settle.)
  maxRetriesPerRequest: 0,
  // A link is one connection.
  retryStrategy: null,
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
  // `Subscriber` subscribes once the master has answered.
  autoResubscribe: false,
};

/** The time that a server has to greet a new connection, ms. The time-out of ioredis covers only TCP. */
export function connectTimeoutOf(options: object): number {
  return Math.min((options as IoredisOptions).connectTimeout || defaultConnectTimeout, maxTimerDelay);
}

export type FixedOptions = Pick<IoredisOptions, "db" | "keyPrefix" | "sentinels">;

/** A `Redis` or a `Cluster`: a client that is connected once. */
abstract class IoredisLink extends ClientLink implements Pick<Link, "isReady" | "drop" | "end"> {
  readonly client: OwnClient;
  protected error: unknown;
  /** Resolves when the client has ended, and rejected what was pending. */
  readonly #ended: Promise<void>;

  constructor(client: OwnClient) {
    super();
    this.client = client;
    // Without a listener ioredis prints the error.
    client.on("error", (error: Error & { readonly command?: { readonly name?: string } }) => {
      if (isInformative(error)) this.error = withoutPath(error, (client.options as IoredisOptions).path);
      // ioredis would use the connection in database 0 (PROTOCOL 2.15). A server that runs a long script refuses SELECT.
      if (error.command?.name === "select") this.lose();
    });
    this.#ended = new Promise((resolve) => client.on("end", resolve));
  }

  get isReady(): boolean {
    return this.client.status === "ready" && !this.isOver;
  }

  protected override connect({ onAccepted, onReady }: LinkEvents): Promise<unknown> {
    const { client } = this;
    client.on("connect", onAccepted);
    client.on("ready", () => {
      // Without its ready check, ioredis 5 takes a connection that was closed during the greeting for ready.
      if (!this.isOver) onReady();
    });
    void this.#ended.then(() => this.lose());
    return client.connect();
  }

  protected override lose(error?: unknown): void {
    super.lose(this.error ?? (isInformative(error) ? error : new Lost("the connection was lost")));
  }

  drop(because?: unknown): Promise<void> {
    if (isInformative(because)) this.error = because;
    cut(this.client);
    this.end();
    return this.#ended;
  }

  end(): void {
    this.isOver = true;
    disconnect(this.client);
  }
}

/**
 * ioredis would wait 2 s for the close of an ended client, which has already happened. One with a `failoverDetector` is
 * disconnected all the same: otherwise it listens to Sentinels for ever where its retry strategy has given up.
 */
export function disconnect(client: Pick<IoredisClient, "status" | "options" | "disconnect">): void {
  const { failoverDetector } = client.options as IoredisOptions;
  if (client.status !== "end" || failoverDetector) outside(() => client.disconnect());
}

/** Whether an error says why a connection was lost: where it is, one of our options is told behind the reason. */
function isInformative(error: unknown): boolean {
  return error instanceof Error && error.message !== "" && withoutAdvice(error) === error;
}

/** A `Redis` like the user's. */
export class RedisLink extends IoredisLink implements Link {
  /** By commands without promises, which show no token to tracing tools and debug logs. */
  readonly post: Link["post"];

  /** `fixed`: the options that override the user's at any time. */
  constructor(user: IoredisClient, fixed: FixedOptions) {
    const options = user.options as IoredisOptions;
    // A client that has not connected hears of no failover itself; later it does, and its links follow (PROTOCOL 2.18).
    const failoverDetector = user.status === "wait" && Boolean(options.failoverDetector);
    const asked = {
      ...sendNowOrNever,
      // If ioredis 5 awaits nothing else, it calls a connection ready before SELECT is answered (PROTOCOL 2.15). With its
      // ready check, this would be answered by a server that refuses connections, and ioredis ignore why.
      disableClientInfo: options.enableReadyCheck !== false,
      ...fixed,
      failoverDetector,
      // ioredis would wait for ever for a Sentinel that hangs, also after it was disconnected. (In its detector, a time-out
      // would be an error that nothing catches.)
      sentinelCommandTimeout:
        options.sentinelCommandTimeout ?? (failoverDetector ? undefined : connectTimeoutOf(options)),
    };
    const client = duplicateOf(user, asked) as OwnClient;
    checkMade(client, { ...client.options, lazyConnect: client.status === "wait" }, asked);
    super(client);
    const make = callbackCommandsOf(client);
    this.post = make
      ? deliverBy(client as OwnClient & SendingClient, make, fixed.keyPrefix ?? "")
      : (message, done) => call(client, message, done);
    if (!make) untrace(client);
  }
}

/** One for subscriptions. A client that knows an inbox can publish a grant to it: its name is hidden from tools. */
export class SubscriberRedisLink extends RedisLink implements SubscriberLink {
  constructor(user: IoredisClient, fixed: FixedOptions, onMessage: OnMessage) {
    super(user, fixed);
    untrace(this.client);
    this.client.on("message", onMessage);
  }

  ping(message: string): Promise<unknown> {
    return this.client.ping(message);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.client.subscribe(hidden(channel));
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.client.unsubscribe(hidden(channel));
  }
}

/** In lower case: before version 5.9, and in iovalkey, ioredis knows the keys of such names only (prefix, hash slot). */
function call(client: OwnClient, { command, args }: Message, done: Done): void {
  const words = withoutSecrets([command, ...args.map(String)]).slice(1);
  const sent = (async () => client.call(command.toLowerCase(), words))();
  sent.then(done, (error: unknown) => done(undefined, redirected(error)));
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
export class ClusterLink extends IoredisLink implements Link {
  constructor(user: IoredisClient) {
    const { redisOptions } = user.options as IoredisOptions;
    const asked = {
      lazyConnect: true,
      clusterRetryStrategy: null,
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
    const its = { ...asked, redisOptions: { ...redisOptions, ...ofNodes } };
    const client = duplicateOf(user, [], its) as OwnClient;
    // (Apart: users may have written an option of the one among those of the other, where it has no effect.)
    checkMade(client, client.options, asked);
    checkMade(client, (client.options as IoredisOptions | undefined)?.redisOptions, ofNodes);
    super(client);
    untrace(client);
    const credentials = credentialsIn(user.options);
    // Emitted for one node: those that are connected stay so. The credentials of a Cluster client cannot be changed.
    client.on("node error", () => {
      if (credentialsIn(user.options) === credentials) return;
      this.error = new Lost("its credentials have changed");
      this.lose();
    });
  }

  get addresses(): readonly string[] {
    return this.client.nodes!("all").map(({ options }) => `${options.host}:${options.port}`);
  }

  post(message: Message, done: Done): void {
    call(this.client, message, done);
  }
}

/**
 * ioredis replaces the masters' replies by its own error after too many redirections. They were reached: the
 * slot is moving.
 */
function redirected(error: unknown): unknown {
  if (!(error instanceof Error && error.message.startsWith("Too many Cluster redirections")))
    return withoutAdvice(error);
  return new Error(`TRYAGAIN the hash slot moves (${error.message})`);
}

function credentialsIn(options: object): string {
  const { username, password } = (options as IoredisOptions).redisOptions ?? {};
  return JSON.stringify([username, password]);
}
