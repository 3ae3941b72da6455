import { outside } from "../../time/async-context.ts";
import type { Timer } from "../../time/runtime.ts";
import { systemRuntime } from "../../time/system.ts";

/**
 * What is used of an ioredis `Redis` or `Cluster`, versions 5 and 6 alike. A description and not an import: the
 * core never loads ioredis.
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

/** A client that we have made. */
export interface OwnClient {
  readonly status: string;
  readonly options: object;
  connect(): Promise<unknown>;
  disconnect(reconnect?: boolean): void;
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
  readonly enableReadyCheck?: boolean;
  readonly redisOptions?: IoredisOptions;
  readonly retryStrategy?: ((times: number) => unknown) | null;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

/** What makes a connection send now or not at all; ioredis documents each of these. */
const sendNowOrNever = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Rejects what is unanswered when the connection is lost. (Only switching the resending off would leave it
  // unsettled.)
  maxRetriesPerRequest: 0,
  // It may ask for a command to be sent again. What else it asks for is done (see `IoredisConnection.complain`).
  reconnectOnError: null,
  enableAutoPipelining: false,
  // A server that loads its data says how long that takes, and ioredis waits for that, up to 10 s: mostly far too long.
  maxLoadingRetryTime: 100,
  // Our own time-out decides; a late answer still counts for something.
  commandTimeout: undefined,
  stringNumbers: false,
  replyMapping: "legacy",
  monitor: false,
  readOnly: false,
};

/** The time that a server has for its greeting, ms, where the user's client sets none. ioredis limits TCP alone. */
const usualConnectTimeout = 10_000;

/** As of `node:net`. */
interface Stream {
  readonly remoteAddress?: string;
  readonly remotePort?: number;
  readonly writableEnded: boolean;
  resetAndDestroy?(): void;
  destroy(): void;
}

function streamOf(client: object): Stream | undefined {
  return (client as { stream?: Stream | null }).stream ?? undefined;
}

/** The server that a client is connected to; `undefined` where it is not, or not over TCP. */
export function serverOf(client: object): string | undefined {
  const { remoteAddress, remotePort } = streamOf(client) ?? {};
  return remoteAddress === undefined ? undefined : `${remoteAddress} ${remotePort}`;
}

/**
 * A `Redis` like the user's, on a connection that sends now or not at all. Before each connect it takes the user's
 * options anew: a password that is rotated, and a master that moves, are changed there. It connects again for as long as
 * the user's client lives.
 */
export class Duplicate<Client extends OwnClient> {
  readonly client: Client;
  readonly isOutdated: boolean = false;
  readonly #users: IoredisClient;
  readonly #fixed: object;
  readonly #sentinels: string;
  /** Runs while the server has been reached, and has not greeted. */
  #greeting: Timer | undefined;

  /** `fixed`: what stays as it was, whatever the user's options are by then. */
  constructor(users: IoredisClient, fixed: object) {
    this.#users = users;
    this.#sentinels = sentinelsIn(users.options);
    this.#fixed = { ...sendNowOrNever, ...fixed, retryStrategy: (times: number) => this.#retryIn(times) };
    this.client = duplicateOf(users)(this.#fixed) as Client;
    this.client.on("connect", () => this.#awaitGreeting());
    this.client.on("ready", () => this.#greeting?.cancel());
    this.client.on("close", () => this.#greeting?.cancel());
  }

  connect(): Promise<unknown> {
    this.#follow();
    return outside(() => this.client.connect());
  }

  /** Ends its connection at once; it makes another. Nothing that was sent is delivered later, as far as that is known. */
  cut(): void {
    const stream = streamOf(this.client);
    if (stream) outside(() => cut(stream));
  }

  /** As {@link cut}, but it makes no other. */
  drop(): void {
    this.cut();
    this.end();
  }

  end(): void {
    end(this.client);
  }

  #follow(): void {
    const wanted: Record<string, unknown> = { ...this.#users.options, ...this.#fixed };
    const options = this.client.options as Record<string, unknown>;
    for (const name of Object.keys(options)) if (!(name in wanted)) delete options[name];
    Object.assign(options, wanted);
  }

  #retryIn(times: number): unknown {
    // Connecting again is over with the user's client. (One that is disconnected between two attempts to connect
    // has no "end" to tell, in ioredis 5 and 6: it only keeps in mind that it was closed by hand.)
    const { status, options } = this.#users;
    if (status === "end" || (this.#users as { manuallyClosing?: boolean }).manuallyClosing) return null;
    // Those that it has are kept elsewhere. Whoever needs it makes another.
    if (sentinelsIn(options) !== this.#sentinels) return null;
    this.#follow();
    return outside(() => (options as IoredisOptions).retryStrategy?.(times));
  }

  /** A server that accepts connections may hang all the same, or the way to it may be cut by now. */
  #awaitGreeting(): void {
    const { connectTimeout } = this.#users.options as IoredisOptions;
    this.#greeting?.cancel();
    this.#greeting = systemRuntime.setTimer(() => this.cut(), connectTimeout || usualConnectTimeout);
    this.#greeting.unref();
  }
}

/** With what was not delivered yet, where that can be: by TCP alone, without TLS. */
function cut(stream: Stream): void {
  // A reset while the stream is being shut down fails, and would leave it open for ever.
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

/** One that has ended is left alone: ioredis would begin to wait for a close that has been, 2 s long. */
export function end(client: OwnClient | IoredisClient): void {
  if (client.status !== "end") outside(() => client.disconnect());
}

/** There are no more on the way to a slot that moves. */
const maxRedirections = 3;

/**
 * A Cluster connects to its masters one by one, when the first command for a slot comes. Commands wait for that
 * in the order in which they were given, so its queue stays on: a roll-back is behind its SET there as well.
 * What ioredis would send again after a failure is switched off. A TRYAGAIN, while a slot with several of the keys moves,
 * it sends again all the same, to any of the masters: that is over at once, since it says nothing until then, and each key
 * by itself can be locked meanwhile.
 */
export class ClusterDuplicate<Client extends OwnClient> {
  readonly client: Client;
  readonly #users: IoredisClient;
  readonly #credentials: string;

  constructor(users: IoredisClient) {
    const { redisOptions } = users.options as IoredisOptions;
    this.#users = users;
    this.#credentials = credentialsIn(users.options);
    this.client = duplicateOf(users)([], {
      lazyConnect: true,
      enableOfflineQueue: true,
      enableAutoPipelining: false,
      retryDelayOnMoved: 0,
      retryDelayOnTryAgain: 0,
      maxRedirections,
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      scaleReads: "master",
      redisOptions: { ...redisOptions, ...sendNowOrNever, enableOfflineQueue: true },
    }) as Client;
  }

  /** The user's options have other credentials by now. Those that it has it keeps. */
  get isOutdated(): boolean {
    return credentialsIn(this.#users.options) !== this.#credentials;
  }

  connect(): Promise<unknown> {
    return outside(() => this.client.connect());
  }

  /** It has many connections, and replaces them itself. */
  cut(): void {}

  drop(): void {
    this.end();
  }

  end(): void {
    end(this.client);
  }
}

function credentialsIn(options: object): string {
  const { username, password } = (options as IoredisOptions).redisOptions ?? {};
  return JSON.stringify([username, password]);
}

function duplicateOf(client: IoredisClient): (...args: unknown[]) => OwnClient {
  return client.duplicate.bind(client) as (...args: unknown[]) => OwnClient;
}

function sentinelsIn(options: object): string {
  return JSON.stringify((options as IoredisOptions).sentinels ?? []);
}
