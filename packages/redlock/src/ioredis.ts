import { outside } from "./async-context.ts";
import type { Connection } from "./connection.ts";
import { hashSlot } from "./hash-slot.ts";
import { IoredisSubscriber, type SubscribingClient } from "./ioredis-subscriber.ts";
import { whyReserved } from "./resources.ts";
import { systemRuntime } from "./system.ts";
import { WeakListeners } from "./weak-listeners.ts";

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

/** A client that this file made. */
interface OwnClient {
  readonly status: string;
  connect(): Promise<unknown>;
  disconnect(): void;
  call(command: string, args: readonly (string | number)[]): Promise<unknown>;
  on(event: string, listener: (argument: unknown) => void): unknown;
}

interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly name?: string | null;
  readonly sentinels?: unknown;
  readonly keyPrefix?: string;
  readonly db?: number;
  readonly redisOptions?: object;
  readonly retryStrategy?: ((times: number) => unknown) | null;
}

/** What makes a connection send now or not at all; ioredis documents each of these. */
const sendNowOrNever = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  // Rejects what is unanswered when the connection is lost. (Only switching the resending off would leave it
  // unsettled.)
  maxRetriesPerRequest: 0,
  reconnectOnError: null,
  enableAutoPipelining: false,
  // Our own time-out decides; a late answer still counts for something.
  commandTimeout: undefined,
  stringNumbers: false,
  replyMapping: "legacy",
  monitor: false,
  readOnly: false,
};

/**
 * A connection of our own, with the address, credentials and options of the client that the user passed.
 *
 * Why not the user's: by default ioredis keeps commands while it is offline and *sends unanswered ones again*
 * after a reconnect, so a SET whose round was rolled back seconds ago could still be executed (PROTOCOL 2.2).
 * Both can only be turned off for a whole connection, and the user's other commands may count on them. Nor may
 * a lock wait behind a BLPOP.
 *
 * It lives as long as the user's client: it ends when that ends and comes back when that comes back.
 */
export class IoredisConnection implements Connection {
  readonly name: string;
  readonly client: IoredisClient;
  readonly #keyPrefix: string;
  readonly #listeners = new Set<() => void>();
  readonly #subscriber: IoredisSubscriber;
  readonly #moves: WeakListeners<[why: string, old: Connection]> = new WeakListeners();
  /** Those to databases that were left a moment ago. */
  readonly #left = new Set<LeftConnection>();
  #database: number | undefined;
  #own: OwnClient;
  /** Whether it has told that it is ready: ioredis has the status a moment before. */
  #stands = false;
  /** Stands while a first connection is being made. */
  #first: Promise<void> | undefined;
  #firstIsOver: () => void = () => {};
  #reason = "the connection is closed";

  constructor(client: IoredisClient) {
    this.client = client;
    this.name = nameOf(client);
    this.#keyPrefix = (client.options as IoredisOptions).keyPrefix ?? "";
    this.#database = currentDatabase(client);
    this.#own = this.#open();
    this.#subscriber = new IoredisSubscriber(() =>
      client.status === "end" ? undefined : subscriberOf(client, this.#database),
    );
    client.on("end", () => {
      this.#replaceOwn();
      this.#subscriber.end();
      this.#endLeft();
    });
    client.on("select", (database: number) => this.#moveTo(database));
    // A client that waits for its first command says that connections are to be made late; else make it now.
    if (client.status !== "wait") void this.connectFirst();
  }

  get database(): number | undefined {
    return this.#database;
  }

  get isReady(): boolean {
    return this.#stands && this.#own.status === "ready";
  }

  get obstacle(): string {
    return this.#reason;
  }

  connectFirst(): Promise<void> | undefined {
    if (this.#first) return this.#first;
    const { status } = this.#own;
    // "end": whoever decides about reconnecting has given up. As long as the user's client lives, so does ours.
    const unused = (status === "wait" || status === "end") && this.client.status !== "end";
    if (!unused) return undefined;
    this.#first = new Promise<void>((resolve) => {
      this.#firstIsOver = () => {
        this.#first = undefined;
        resolve();
      };
    });
    const connecting = this.#first;
    const own = this.#own;
    outside(() => own.connect()).catch((error: unknown) => this.#failed(own, error));
    return connecting;
  }

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#own.call(command, args);
  }

  isReply(error: unknown): error is Error {
    return error instanceof Error && error.name === "ReplyError";
  }

  refuses(resources: readonly string[]): string | undefined {
    const why = whyReserved(resources, this.#keyPrefix);
    if (why) return why;
    if (!this.client.isCluster || resources.length === 1) return undefined;
    const slots = new Set(resources.map((resource) => hashSlot(this.#keyPrefix + resource)));
    if (slots.size === 1) return undefined;
    return "on a Redis Cluster the resources of one lock must share a hash slot; give them a common {hash tag}";
  }

  slotOf(key: string, forced: boolean): number | undefined {
    return forced || this.client.isCluster ? hashSlot(this.#keyPrefix + key) : undefined;
  }

  subscribe(
    channel: string,
    hear: (message: string) => void,
    changed: (isListening: boolean, error?: unknown) => void,
  ): unknown {
    const subscription = { hear, changed };
    // Of how many have heard it, the PUBLISH of a Cluster counts those of one master alone.
    if (this.client.isCluster) changed(false);
    else this.#subscriber.subscribe(channel, subscription);
    return subscription;
  }

  onMove(listener: (why: string, old: Connection) => void): void {
    this.#moves.add(listener);
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#end();
    // A client that is not connected would keep its QUIT until it is.
    if (this.client.status === "ready") await this.client.quit();
    else this.disconnect();
  }

  disconnect(): void {
    this.#end();
    end(this.client);
  }

  #end(): void {
    end(this.#own);
    this.#subscriber.end();
    this.#endLeft();
  }

  #endLeft(): void {
    for (const left of this.#left) this.#forget(left);
  }

  #forget(left: LeftConnection): void {
    this.#left.delete(left);
    left.disconnect();
  }

  /**
   * New locks are in the client's own database; what was begun in the one before is only taken back there. (A switched
   * client says so again after each reconnect.)
   */
  #moveTo(database: number): void {
    if (database === this.#database) return;
    const why = `the client of ${this.name} was switched from database ${this.#database} to ${database}`;
    this.#database = database;
    const old = this.#own;
    this.#own = this.#open();
    this.#stands = false;
    this.#firstIsOver();
    const left = new LeftConnection(this, old, why);
    this.#left.add(left);
    systemRuntime.setTimer(() => this.#forget(left), takingBack).unref();
    this.#moves.call(why, left);
  }

  /** What was sent on the old connection is answered with a fault; the next call makes a new one. */
  #replaceOwn(): void {
    const old = this.#own;
    this.#own = this.#open();
    this.#stands = false;
    this.#firstIsOver();
    end(old);
  }

  #open(): OwnClient {
    const own = this.client.isCluster ? clusterOf(this.client) : redisOf(this.client, this.#database);
    own.on("ready", () => {
      if (own !== this.#own) return;
      this.#stands = true;
      this.#firstIsOver();
      this.#subscriber.reopen();
      for (const listener of this.#listeners) listener();
    });
    own.on("close", () => this.#over(own));
    own.on("end", () => this.#over(own));
    own.on("error", (error) => {
      if (own === this.#own)
        this.#reason = error instanceof Error ? error.message || error.name : String(error);
    });
    return own;
  }

  #failed(own: OwnClient, error: unknown): void {
    const message = error instanceof Error ? error.message : "";
    // That it is closed says nothing: why, an "error" event has told before.
    const tells = message !== "" && message !== "Connection is closed.";
    if (own === this.#own && tells) this.#reason = message;
    this.#over(own);
  }

  /** A connection that was replaced has no say any more. */
  #over(own: OwnClient): void {
    if (own !== this.#own) return;
    this.#stands = false;
    this.#firstIsOver();
  }
}

/** So long after a switch the connection to the database before still stands, to take back what is there, ms. */
const takingBack = 2000;

/** A connection to a database that the client has left. */
class LeftConnection implements Connection {
  readonly name: string;
  readonly client: object;
  readonly obstacle: string;
  readonly #current: IoredisConnection;
  readonly #own: OwnClient;

  constructor(current: IoredisConnection, own: OwnClient, why: string) {
    this.name = current.name;
    this.client = current.client;
    this.obstacle = why;
    this.#current = current;
    this.#own = own;
  }

  get isReady(): boolean {
    return this.#own.status === "ready";
  }

  connectFirst(): undefined {
    return undefined;
  }

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#own.call(command, args);
  }

  isReply(error: unknown): error is Error {
    return this.#current.isReply(error);
  }

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    this.disconnect();
    return Promise.resolve();
  }

  disconnect(): void {
    end(this.#own);
  }
}

/** One connection for each client of the user's, however many Redlocks share it. */
const connections = new WeakMap<IoredisClient, IoredisConnection>();

export function connectionOf(client: IoredisClient): IoredisConnection {
  let connection = connections.get(client);
  if (!connection) {
    connection = new IoredisConnection(client);
    connections.set(client, connection);
  }
  return connection;
}

/** One that has ended is left alone: ioredis would begin to wait for a close that has been, 2 s long. */
function end(client: OwnClient | IoredisClient): void {
  if (client.status !== "end") outside(() => client.disconnect());
}

function redisOf(client: IoredisClient, database: number | undefined): OwnClient {
  return duplicateOf(client)(optionsFor(client, database));
}

/** Subscribes by itself, when it stands, and not before the master has answered. */
function subscriberOf(client: IoredisClient, database: number | undefined): SubscribingClient {
  const options = { ...optionsFor(client, database), autoResubscribe: false };
  return duplicateOf(client)(options) as unknown as SubscribingClient;
}

function optionsFor(client: IoredisClient, database: number | undefined): object {
  const { retryStrategy } = client.options as IoredisOptions;
  return {
    ...sendNowOrNever,
    ...(database === undefined ? {} : { db: database }),
    // Connecting again is over with the user's client. (One that is disconnected between two attempts to connect
    // has no "end" to tell, in ioredis 5 and 6: it only keeps in mind that it was closed by hand.)
    retryStrategy: (times: number) =>
      client.status === "end" || (client as { manuallyClosing?: boolean }).manuallyClosing
        ? null
        : retryStrategy?.(times),
  };
}

/**
 * A Cluster connects to its masters one by one, when the first command for a slot comes. Commands wait for that
 * in the order in which they were given, so its queue stays on: a roll-back is behind its SET there as well.
 * What ioredis would send again after a failure is switched off. A TRYAGAIN, while a slot with several of the
 * keys moves, it sends again all the same, 100 ms later and in order: such a vote may come too late to count.
 */
function clusterOf(client: IoredisClient): OwnClient {
  const { redisOptions } = client.options as IoredisOptions;
  return duplicateOf(client)([], {
    lazyConnect: true,
    enableOfflineQueue: true,
    enableAutoPipelining: false,
    retryDelayOnMoved: 0,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    scaleReads: "master",
    redisOptions: { ...redisOptions, ...sendNowOrNever, enableOfflineQueue: true },
  });
}

function duplicateOf(client: IoredisClient): (...args: unknown[]) => OwnClient {
  return client.duplicate.bind(client) as (...args: unknown[]) => OwnClient;
}

/** The database that the client was last switched to, or is configured for. A Cluster has only one. */
function currentDatabase(client: IoredisClient): number | undefined {
  if (client.isCluster) return undefined;
  const { condition } = client as { condition?: { select?: number } | null };
  return condition?.select ?? (client.options as IoredisOptions).db ?? 0;
}

function nameOf(client: IoredisClient): string {
  const options = client.options as IoredisOptions;
  if (client.isCluster) {
    const first = (client as { startupNodes?: readonly IoredisOptions[] }).startupNodes?.[0];
    return `cluster at ${first?.host}:${first?.port}`;
  }
  return options.path ?? (options.sentinels ? options.name! : `${options.host}:${options.port}`);
}
