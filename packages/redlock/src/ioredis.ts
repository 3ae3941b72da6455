import calculateSlot from "cluster-key-slot";
import type { Connection } from "./connection.ts";
import { NodeError } from "./errors.ts";

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
  call(command: string, ...args: (string | number)[]): Promise<unknown>;
  on(event: string, listener: (argument: unknown) => void): unknown;
}

interface IoredisOptions {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly name?: string | null;
  readonly sentinels?: unknown;
  readonly keyPrefix?: string;
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
  readonly #listeners: Array<() => void> = [];
  #own: OwnClient;
  /** Stands while a first connection is being made. */
  #first: Promise<void> | undefined;
  #firstIsOver: () => void = () => {};
  #reason = "the connection is closed";

  constructor(client: IoredisClient) {
    this.client = client;
    this.name = nameOf(client);
    this.#keyPrefix = (client.options as IoredisOptions).keyPrefix ?? "";
    this.#own = this.#open(currentDatabase(client));
    client.on("end", () => this.#own.disconnect());
    // The locks live in the client's own database: a connection to the old one is given up with all it carries.
    client.on("select", (database: number) => {
      this.#own.disconnect();
      this.#own = this.#open(database);
    });
    // A client that waits for its first command says that connections are to be made late; else make it now.
    if (client.status !== "wait") void this.#connect();
  }

  obstacle(): undefined | Promise<void> | NodeError {
    const { status } = this.#own;
    if (status === "ready") return undefined;
    if (this.#first) return this.#first;
    const unused = status === "wait" || (status === "end" && this.client.status !== "end");
    return unused ? this.#connect() : new NodeError(this.name, "UNREACHABLE", this.#reason);
  }

  send(command: string, args: readonly (string | number)[]): Promise<unknown> {
    return this.#own.call(command, ...args);
  }

  isReply(error: unknown): error is Error {
    return error instanceof Error && error.name === "ReplyError";
  }

  refuses(resources: readonly string[]): string | undefined {
    if (!this.client.isCluster || resources.length === 1) return undefined;
    const slots = new Set(resources.map((resource) => calculateSlot(this.#keyPrefix + resource)));
    if (slots.size === 1) return undefined;
    return "on a Redis Cluster the resources of one lock must share a hash slot; give them a common {hash tag}";
  }

  onReady(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#own.disconnect();
    // A client that is not connected would keep its QUIT until it is.
    if (this.client.status === "ready") await this.client.quit();
    else this.disconnect();
  }

  disconnect(): void {
    this.#own.disconnect();
    this.client.disconnect();
  }

  #open(database: number | undefined): OwnClient {
    const own = this.client.isCluster ? clusterOf(this.client) : redisOf(this.client, database);
    own.on("ready", () => {
      this.#firstIsOver();
      for (const listener of this.#listeners) listener();
    });
    own.on("close", () => this.#firstIsOver());
    own.on("end", () => this.#firstIsOver());
    own.on("error", (error) => {
      this.#reason = error instanceof Error ? error.message || error.name : String(error);
    });
    return own;
  }

  /** Settles when the first connection stands or has failed; to connect again afterwards is ioredis's part. */
  #connect(): Promise<void> {
    this.#first = new Promise<void>((resolve) => {
      this.#firstIsOver = () => {
        this.#first = undefined;
        resolve();
      };
    });
    const connecting = this.#first;
    this.#own.connect().catch(() => this.#firstIsOver());
    return connecting;
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

function redisOf(client: IoredisClient, database: number | undefined): OwnClient {
  return duplicateOf(client)({ ...sendNowOrNever, ...(database === undefined ? {} : { db: database }) });
}

/**
 * A Cluster connects to its masters one by one, when the first command for a slot comes. Commands wait for that
 * in the order in which they were given, so its queue stays on: a roll-back is behind its SET there as well.
 * What ioredis would send again after a failure is switched off.
 */
function clusterOf(client: IoredisClient): OwnClient {
  return duplicateOf(client)([], {
    lazyConnect: true,
    enableOfflineQueue: true,
    enableAutoPipelining: false,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    scaleReads: "master",
    redisOptions: { ...sendNowOrNever, enableOfflineQueue: true },
  });
}

function duplicateOf(client: IoredisClient): (...args: unknown[]) => OwnClient {
  return client.duplicate.bind(client) as (...args: unknown[]) => OwnClient;
}

/** The database the client was last switched to; the one in its options where that cannot be told. */
function currentDatabase(client: IoredisClient): number | undefined {
  return (client as { condition?: { select?: number } | null }).condition?.select;
}

function nameOf(client: IoredisClient): string {
  const options = client.options as IoredisOptions;
  if (client.isCluster) {
    const first = (client as { startupNodes?: readonly unknown[] }).startupNodes?.[0];
    const address = first as { host?: string; port?: number } | undefined;
    return address?.port ? `cluster at ${address.host ?? "127.0.0.1"}:${address.port}` : "cluster";
  }
  if (options.sentinels) return `sentinel group ${options.name}`;
  return options.path ?? `${options.host}:${options.port}`;
}
