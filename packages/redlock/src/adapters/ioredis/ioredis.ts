import { WeakListeners } from "../../protocol/weak-listeners.ts";
import type { Args, Connection } from "../../redis/connection.ts";
import { hashSlot } from "../../redis/hash-slot.ts";
import { NotSent } from "../../redis/session.ts";
import { SilenceWatch } from "../../redis/silence-watch.ts";
import { whyReserved } from "../../settings/resources.ts";
import { outside } from "../../time/async-context.ts";
import { systemRuntime } from "../../time/system.ts";
import { callbackCommandsOf, type MakeCommand } from "./callback-command.ts";
import {
  ClusterDuplicate,
  Duplicate,
  end,
  type IoredisClient,
  type IoredisOptions,
  type OwnClient,
  onEnd,
  serverOf,
} from "./duplicate.ts";
import { serverIdsOf } from "./server-ids.ts";
import { IoredisSubscriber, type SubscribingClient } from "./subscriber.ts";

export type { IoredisClient } from "./duplicate.ts";

/** A client for commands. */
interface CommandClient extends OwnClient {
  call(command: string, args: Args): Promise<unknown>;
  sendCommand(command: object): unknown;
  nodes?(role: "all"): ReadonlyArray<{ readonly options: IoredisOptions }>;
}

type OwnDuplicate = Duplicate<CommandClient> | ClusterDuplicate<CommandClient>;

/**
 * A connection younger than this is not replaced because of an error reply, ms: the server remains a replica
 * for a while, and reconnecting at once would only repeat the error.
 */
const minAge = 1000;

/**
 * A connection of its own, with the address, credentials and options of the user's client.
 *
 * The user's client itself is unsuitable: by default ioredis keeps commands while it is offline and *resends
 * unanswered ones* after a reconnect, so a SET whose round was rolled back seconds ago could still execute
 * (PROTOCOL 2.2). Both can only be disabled for a whole connection, and the user's other commands may rely on
 * them. Also, a lock must not wait behind a BLPOP.
 *
 * It lives as long as the user's client: it ends and comes back with it, and follows it to another database,
 * another server or other credentials. It is replaced if the server reports that it is a replica, and if it
 * is silent while a second connection is not. Commands sent on the old connection are then rejected and never
 * resent (PROTOCOL 2.2).
 */
export class IoredisConnection implements Connection {
  readonly name: string;
  readonly client: IoredisClient;
  readonly #keyPrefix: string;
  readonly #listeners = new Set<() => void>();
  readonly #subscriber: IoredisSubscriber;
  readonly #moves: WeakListeners<[why: string, old: Connection]> = new WeakListeners();
  /** The connections to databases that were left a moment ago. */
  readonly #previous = new Set<PreviousConnection>();
  serverIds: readonly string[] = [];
  session = 0;
  #database: number | undefined;
  readonly #silence: SilenceWatch;
  /**
   * Without promises, if this version of ioredis allows it. Not on a Cluster, where ioredis resends a command
   * after a slot has moved.
   */
  readonly ask: Connection["ask"];
  #own: OwnDuplicate;
  /**
   * A second connection, made while the current one is silent. Once the server greets it, the current one is
   * known to be dead.
   */
  #candidate: OwnDuplicate | undefined;
  /**
   * The times when the connection became ready and when the previous one was lost, by the monotonic clock.
   */
  #readyAt = 0;
  #lostAt = Number.NEGATIVE_INFINITY;
  /** Whether `onReady` was called: the status of ioredis changes a moment earlier. */
  #isEstablished = false;
  /** Set while the first connection is being made. */
  #first: Promise<void> | undefined;
  #resolveFirst: () => void = () => {};
  #reason = "the connection is closed";

  constructor(client: IoredisClient) {
    this.client = client;
    this.name = nameOf(client);
    this.#keyPrefix = (client.options as IoredisOptions).keyPrefix ?? "";
    this.#database = currentDatabase(client);
    this.#own = this.#open();
    const make = client.isCluster ? undefined : callbackCommandsOf(this.#own.client);
    this.ask = make && this.#askWith(make);
    this.#silence = new SilenceWatch(systemRuntime, {
      onSilence: () => this.#openCandidate(),
      onAnswer: () => this.#dropCandidate(),
      isErrorReply: (error) => this.isErrorReply(error),
    });
    // `IoredisSubscriber` subscribes after each reconnect, once the master has answered.
    const listening = (): object => ({ ...this.#fixed, autoResubscribe: false });
    this.#subscriber = new IoredisSubscriber(
      () => (client.status === "end" ? undefined : new Duplicate<SubscribingClient>(client, listening())),
      systemRuntime,
    );
    onEnd(client, () => {
      this.#replaceOwn();
      this.#subscriber.end();
      this.#endPrevious();
    });
    client.on("select", (database: number) => this.#moveTo(database));
    client.on("ready", () => this.#followServer());
    // A client with `lazyConnect` waits for its first command; otherwise the connection is made now.
    if (client.status !== "wait") void this.connectFirst();
  }

  get database(): number | undefined {
    return this.#database;
  }

  get isReady(): boolean {
    return this.#isEstablished && this.#own.client.status === "ready";
  }

  get notReadyReason(): string {
    return this.#reason;
  }

  connectFirst(): Promise<void> | undefined {
    if (this.#first) return this.#first;
    const { status } = this.#own.client;
    // "end": the user's retry strategy has given up. This connection lives as long as the user's client.
    const unused = (status === "wait" || status === "end") && this.client.status !== "end";
    if (!unused) return undefined;
    if (status === "end") this.#own = this.#open();
    this.#first = new Promise<void>((resolve) => {
      this.#resolveFirst = () => {
        this.#first = undefined;
        resolve();
      };
    });
    const connecting = this.#first;
    const own = this.#own;
    own.connect().catch((error: unknown) => this.#onConnectFailed(own, error));
    return connecting;
  }

  send(command: string, args: Args): Promise<unknown> {
    if (!canSend(this.#own)) return Promise.reject(new NotSent(this.#reason));
    const reply = this.#own.client.call(command, args);
    // A Cluster has many connections; `socketTimeout` detects silent ones.
    if (this.client.isCluster) return reply.catch(redirectionError);
    this.#silence.onSent();
    reply.then(
      () => this.#silence.onSettled(undefined),
      (error) => this.#silence.onSettled(error),
    );
    return reply;
  }

  #askWith(make: MakeCommand): Connection["ask"] {
    return (command, args, done) => {
      // As in `canSend`, but inlined: every lock passes here.
      if (this.#own.client.status !== "ready") throw new NotSent(this.#reason);
      const sent = make(command, args, this.#keyPrefix, (reply, error) => {
        this.#silence.onSettled(error);
        done(reply, error);
      });
      this.#silence.onSent();
      this.#own.client.sendCommand(sent);
      sent.isSent = true;
    };
  }

  onErrorReply(error: Error): void {
    const isOld = systemRuntime.monotonic() - this.#readyAt >= minAge;
    if (isOld && (isWrongServer(error) || this.#reconnectsOnError(error))) this.#replace(error.message);
  }

  isErrorReply(error: unknown): error is Error {
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
    onMessage: (message: string) => void,
    onChange: (isListening: boolean, error?: unknown) => void,
  ): unknown {
    const subscription = { onMessage, onChange };
    // On a Cluster, PUBLISH counts the subscribers of one master only, so its result means nothing.
    if (this.client.isCluster) onChange(false);
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
    // A client that is not connected would keep QUIT in its queue.
    if (this.client.status === "ready") await this.client.quit();
    else this.disconnect();
  }

  disconnect(): void {
    this.#end();
    end(this.client);
  }

  #end(): void {
    // ioredis reports it as ready until it is closed.
    this.#onClosed(this.#own);
    this.#own.end();
    this.#dropCandidate();
    this.#subscriber.end();
    this.#endPrevious();
  }

  #endPrevious(): void {
    for (const left of this.#previous) this.#forget(left);
  }

  #forget(left: PreviousConnection): void {
    this.#previous.delete(left);
    left.disconnect();
  }

  /**
   * New locks use the client's new database; in the previous one, keys are only rolled back. (A switched
   * client emits this again after each reconnect.)
   */
  #moveTo(database: number): void {
    if (database === this.#database) return;
    const why = `the client of ${this.name} was switched from database ${this.#database} to ${database}`;
    this.#database = database;
    const old = this.#own;
    this.#dropCandidate();
    this.#own = this.#open();
    this.#isEstablished = false;
    this.#resolveFirst();
    const left = new PreviousConnection(this, old, why);
    this.#previous.add(left);
    // After a reconnect there would be nothing to roll back in order.
    old.client.on("close", () => this.#forget(left));
    systemRuntime.setTimer(() => this.#forget(left), rollbackPeriod).unref();
    this.#moves.call(why, left);
  }

  /** Commands sent on the old connection are answered with a fault; the next call makes a new connection. */
  #replaceOwn(): void {
    const old = this.#own;
    this.#dropCandidate();
    this.#own = this.#open();
    this.#onClosed(this.#own);
    old.end();
  }

  /** Closes a connection to the wrong server; ioredis makes another. */
  #replace(why: string): void {
    if (!this.isReady || this.client.isCluster) return;
    this.#onClosed(this.#own);
    this.#reason = why;
    this.#own.cut();
  }

  /**
   * The connection is silent: the server is slow, or the network is cut. No timeout can distinguish the two,
   * but a new connection can: a slow server greets it no earlier than it answers earlier commands.
   */
  #openCandidate(): void {
    if (this.#own.client.status !== "ready" || this.#candidate) return;
    this.#candidate = this.#open();
    this.#candidate.connect().catch(() => {});
  }

  #dropCandidate(): void {
    this.#candidate?.drop();
    this.#candidate = undefined;
  }

  /** Commands on the silent connection are rejected before anything is sent on the new one. */
  #switchTo(candidate: OwnDuplicate): void {
    const silent = this.#own;
    this.#onClosed(silent);
    this.#reason = "the connection was silent and is being replaced";
    this.#own = candidate;
    this.#candidate = undefined;
    silent.client.on("end", () => {
      if (candidate.client.status === "ready") void this.#onConnected(candidate);
    });
    silent.drop();
  }

  /** The options that stay fixed. */
  get #fixed(): object {
    return { db: this.#database, keyPrefix: this.#keyPrefix };
  }

  #open(): OwnDuplicate {
    const own = this.client.isCluster
      ? new ClusterDuplicate<CommandClient>(this.client)
      : new Duplicate<CommandClient>(this.client, this.#fixed);
    const { client } = own;
    client.on("ready", () => {
      if (own === this.#candidate) this.#switchTo(own);
      else void this.#onConnected(own);
    });
    client.on("close", () => this.#onClosed(own));
    client.on("end", () => {
      if (own === this.#candidate) this.#candidate = undefined;
      this.#onClosed(own);
    });
    client.on("error", (error: unknown) => {
      if (own === this.#own)
        this.#reason = error instanceof Error ? error.message || error.name : String(error);
    });
    // Emitted for one node of a Cluster.
    client.on("node error", () => {
      if (own === this.#own && own.isOutdated) this.#replaceOwn();
    });
    return own;
  }

  /** Identifies the server before anything else is sent. */
  async #onConnected(own: OwnDuplicate): Promise<void> {
    if (own !== this.#own) return;
    const { enableReadyCheck = true } = this.client.options as IoredisOptions;
    const ask = enableReadyCheck ? () => this.send("INFO", ["server"]) : undefined;
    const serverIds = await outside(() => serverIdsOf(own.client, ask));
    if (own !== this.#own || own.client.status !== "ready") return;
    this.serverIds = serverIds;
    this.#isEstablished = true;
    this.session += 1;
    this.#readyAt = systemRuntime.monotonic();
    this.#resolveFirst();
    this.#subscriber.reopen(this.#lostAt);
    for (const listener of this.#listeners) listener();
  }

  /**
   * The user's client has connected to another server, so this connection follows. It may still be connected
   * to the previous one, which continues to serve others.
   */
  #followServer(): void {
    const [theirs, ours] = [this.client, this.#own.client].map(serverOf);
    if (theirs && ours && theirs !== ours) this.#replace(`its client is connected to ${theirs} now`);
  }

  /** Does the same as the user's client on this error, without resending anything. */
  #reconnectsOnError(error: Error): boolean {
    const { reconnectOnError } = this.client.options as IoredisOptions;
    try {
      return Boolean(outside(() => reconnectOnError?.(error)));
    } catch (mistake) {
      // An error of the user's function, thrown as such: nothing here is interrupted.
      systemRuntime.setTimer(() => {
        throw mistake;
      }, 0);
      return false;
    }
  }

  #onConnectFailed(own: OwnDuplicate, error: unknown): void {
    const message = error instanceof Error ? error.message : "";
    // This message has no information: an "error" event has reported the reason.
    const isInformative = message !== "" && message !== "Connection is closed.";
    if (own === this.#own && isInformative) this.#reason = message;
    this.#onClosed(own);
  }

  /** Events of a replaced connection are ignored. */
  #onClosed(own: OwnDuplicate): void {
    if (own !== this.#own) return;
    if (this.#isEstablished) this.#lostAt = systemRuntime.monotonic();
    this.#isEstablished = false;
    this.#resolveFirst();
  }
}

/**
 * The time for which the connection to the previous database stays open after a switch, for rollbacks, ms.
 */
const rollbackPeriod = 2000;

/** The connection to a database that the client has left. */
class PreviousConnection implements Connection {
  readonly name: string;
  readonly client: object;
  readonly notReadyReason: string;
  /** Constant: if it is lost, it is not replaced. */
  readonly session = 0;
  readonly #current: IoredisConnection;
  readonly #own: OwnDuplicate;

  constructor(current: IoredisConnection, own: OwnDuplicate, why: string) {
    this.name = current.name;
    this.client = current.client;
    this.notReadyReason = why;
    this.#current = current;
    this.#own = own;
  }

  get isReady(): boolean {
    return canSend(this.#own);
  }

  connectFirst(): undefined {
    return undefined;
  }

  send(command: string, args: Args): Promise<unknown> {
    if (!this.isReady) return Promise.reject(new NotSent(this.notReadyReason));
    return this.#own.client.call(command, args);
  }

  isErrorReply(error: unknown): error is Error {
    return this.#current.isErrorReply(error);
  }

  onReady(): () => void {
    return () => {};
  }

  close(): Promise<void> {
    this.disconnect();
    return Promise.resolve();
  }

  disconnect(): void {
    this.#own.end();
  }
}

/** A client that was never connected would connect for a command and never be closed. */
function canSend({ client }: OwnDuplicate): boolean {
  return client.status === "ready";
}

/**
 * ioredis replaces the masters' replies by its own error after too many redirections. They were reached: the
 * slot is moving.
 */
function redirectionError(error: unknown): never {
  if (!(error instanceof Error && error.message.startsWith("Too many Cluster redirections"))) throw error;
  const reply = new Error(`TRYAGAIN the hash slot moves (${error.message})`);
  reply.name = "ReplyError";
  throw reply;
}

/** The server is a replica, or no longer knows the user. A script quotes the error within its own. */
function isWrongServer({ message }: Error): boolean {
  return /\b(READONLY|NOAUTH)\b/.test(message);
}

/** One connection for each client of the user, shared by all Redlocks. */
const connections = new WeakMap<IoredisClient, IoredisConnection>();

export function connectionOf(client: IoredisClient): IoredisConnection {
  let connection = connections.get(client);
  if (!connection) {
    connection = new IoredisConnection(client);
    connections.set(client, connection);
  }
  return connection;
}

/** The database that the client was last switched to or is configured for. A Cluster has one only. */
function currentDatabase(client: IoredisClient): number | undefined {
  if (client.isCluster) return undefined;
  const { condition } = client as { condition?: { select?: number } | null };
  return condition?.select ?? (client.options as IoredisOptions).db ?? 0;
}

function nameOf(client: IoredisClient): string {
  const options = client.options as IoredisOptions;
  if (client.isCluster) {
    const [first] =
      (client as { startupNodes?: ReadonlyArray<IoredisOptions | string | number> }).startupNodes ?? [];
    if (typeof first === "object") return `cluster at ${first.host}:${first.port}`;
    // A port, or a URL that may contain a password before the address.
    return `cluster at ${/[^/@]+(?=\/\d*$|$)/.exec(`${first}`)?.[0]}`;
  }
  return options.path ?? (options.sentinels ? options.name! : `${options.host}:${options.port}`);
}
