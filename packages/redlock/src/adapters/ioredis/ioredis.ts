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
  serverOf,
} from "./duplicate.ts";
import { serverIdsOf } from "./server-ids.ts";
import { IoredisSubscriber, type SubscribingClient } from "./subscriber.ts";

export type { IoredisClient } from "./duplicate.ts";

/** A client that carries commands. */
interface CommandClient extends OwnClient {
  call(command: string, args: Args): Promise<unknown>;
  sendCommand(command: object): unknown;
  nodes?(role: "all"): ReadonlyArray<{ readonly options: IoredisOptions }>;
}

type Own = Duplicate<CommandClient> | ClusterDuplicate<CommandClient>;

/** A connection younger than this is not replaced because of an error reply, ms: a replica stays one for a while. */
const leastAge = 1000;

/**
 * A connection of our own, with the address, credentials and options of the client that the user passed.
 *
 * Why not the user's: by default ioredis keeps commands while it is offline and *sends unanswered ones again*
 * after a reconnect, so a SET whose round was rolled back seconds ago could still be executed (PROTOCOL 2.2).
 * Both can only be turned off for a whole connection, and the user's other commands may count on them. Nor may
 * a lock wait behind a BLPOP.
 *
 * It lives as long as the user's client: it ends when that ends and comes back when that comes back. It follows where
 * that goes: to another database, to another server, with other credentials. It is replaced where the server says that it
 * is a replica, and where it is silent and a connection beside it is not. What was sent on the old one is rejected then,
 * and never sent again (PROTOCOL 2.2).
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
  serverIds: readonly string[] = [];
  session = 0;
  #database: number | undefined;
  readonly #silence: SilenceWatch;
  /** Without promises, where this version of ioredis allows it. A Cluster sends a command again where a slot has moved. */
  readonly ask: Connection["ask"];
  #own: Own;
  /** It is made beside a silent one: only where the server greets it, the silent one is known to lead nowhere. */
  #another: Own | undefined;
  /** When it was ready, by the monotonic clock, and when the one before was lost. */
  #readyAt = 0;
  #lostAt = Number.NEGATIVE_INFINITY;
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
    const make = client.isCluster ? undefined : callbackCommandsOf(this.#own.client);
    this.ask = make && this.#askBy(make);
    this.#silence = new SilenceWatch(systemRuntime, {
      onSilence: () => this.#tryAnother(),
      onAnswer: () => this.#endAnother(),
      isErrorReply: (error) => this.isErrorReply(error),
    });
    // It subscribes by itself, when it stands, and not before the master has answered.
    const listening = (): object => ({ ...this.#fixed, autoResubscribe: false });
    this.#subscriber = new IoredisSubscriber(
      () => (client.status === "end" ? undefined : new Duplicate<SubscribingClient>(client, listening())),
      systemRuntime,
    );
    client.on("end", () => {
      this.#replaceOwn();
      this.#subscriber.end();
      this.#endLeft();
    });
    client.on("select", (database: number) => this.#moveTo(database));
    client.on("ready", () => this.#followServer());
    // A client that waits for its first command says that connections are to be made late; else make it now.
    if (client.status !== "wait") void this.connectFirst();
  }

  get database(): number | undefined {
    return this.#database;
  }

  get isReady(): boolean {
    return this.#stands && this.#own.client.status === "ready";
  }

  get notReadyReason(): string {
    return this.#reason;
  }

  connectFirst(): Promise<void> | undefined {
    if (this.#first) return this.#first;
    const { status } = this.#own.client;
    // "end": whoever decides about reconnecting has given up. As long as the user's client lives, so does ours.
    const unused = (status === "wait" || status === "end") && this.client.status !== "end";
    if (!unused) return undefined;
    if (status === "end") this.#own = this.#open();
    this.#first = new Promise<void>((resolve) => {
      this.#firstIsOver = () => {
        this.#first = undefined;
        resolve();
      };
    });
    const connecting = this.#first;
    const own = this.#own;
    own.connect().catch((error: unknown) => this.#failed(own, error));
    return connecting;
  }

  send(command: string, args: Args): Promise<unknown> {
    if (!canSend(this.#own)) return Promise.reject(new NotSent(this.#reason));
    const reply = this.#own.client.call(command, args);
    // A Cluster has many connections. Which of them is silent, `socketTimeout` finds out.
    if (this.client.isCluster) return reply.catch(redirected);
    this.#silence.onSent();
    reply.then(
      () => this.#silence.onSettled(undefined),
      (error) => this.#silence.onSettled(error),
    );
    return reply;
  }

  #askBy(make: MakeCommand): Connection["ask"] {
    return (command, args, done) => {
      // (As below; but this is met with every lock.)
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
    const isOld = systemRuntime.monotonic() - this.#readyAt >= leastAge;
    if (isOld && (isWrongServer(error) || this.#reconnectsOn(error))) this.#replace(error.message);
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
    // (To ioredis it is ready until it is closed.)
    this.#over(this.#own);
    this.#own.end();
    this.#endAnother();
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
    this.#endAnother();
    this.#own = this.#open();
    this.#stands = false;
    this.#firstIsOver();
    const left = new LeftConnection(this, old, why);
    this.#left.add(left);
    // Another one would have nothing to take back behind.
    old.client.on("close", () => this.#forget(left));
    systemRuntime.setTimer(() => this.#forget(left), takingBack).unref();
    this.#moves.call(why, left);
  }

  /** What was sent on the old connection is answered with a fault; the next call makes a new one. */
  #replaceOwn(): void {
    const old = this.#own;
    this.#endAnother();
    this.#own = this.#open();
    this.#over(this.#own);
    old.end();
  }

  /** Ends the connection, which leads to the wrong server; ioredis makes another. */
  #replace(why: string): void {
    if (!this.isReady || this.client.isCluster) return;
    this.#over(this.#own);
    this.#reason = why;
    this.#own.cut();
  }

  /**
   * The connection is silent: the server is slow, or the way to it is cut. A server that is slow greets no sooner than it
   * answers what was sent before, so the new connection shows which it is; no time-out tells them apart.
   */
  #tryAnother(): void {
    if (this.#own.client.status !== "ready" || this.#another) return;
    this.#another = this.#open();
    this.#another.connect().catch(() => {});
  }

  #endAnother(): void {
    this.#another?.drop();
    this.#another = undefined;
  }

  /** What was sent on the silent connection is rejected before anything is sent on the other one. */
  #changeTo(another: Own): void {
    const silent = this.#own;
    this.#over(silent);
    this.#reason = "the connection was silent, and is replaced";
    this.#own = another;
    this.#another = undefined;
    silent.client.on("end", () => {
      if (another.client.status === "ready") void this.#begin(another);
    });
    silent.drop();
  }

  /** What does not change with the user's options. */
  get #fixed(): object {
    return { db: this.#database, keyPrefix: this.#keyPrefix };
  }

  #open(): Own {
    const own = this.client.isCluster
      ? new ClusterDuplicate<CommandClient>(this.client)
      : new Duplicate<CommandClient>(this.client, this.#fixed);
    const { client } = own;
    client.on("ready", () => {
      if (own === this.#another) this.#changeTo(own);
      else void this.#begin(own);
    });
    client.on("close", () => this.#over(own));
    client.on("end", () => {
      if (own === this.#another) this.#another = undefined;
      this.#over(own);
    });
    client.on("error", (error: unknown) => {
      if (own === this.#own)
        this.#reason = error instanceof Error ? error.message || error.name : String(error);
    });
    // Of one node of a Cluster.
    client.on("node error", () => {
      if (own === this.#own && own.isOutdated) this.#replaceOwn();
    });
    return own;
  }

  /** Before anything else is sent it is known which server this is. */
  async #begin(own: Own): Promise<void> {
    if (own !== this.#own) return;
    const { enableReadyCheck = true } = this.client.options as IoredisOptions;
    const ask = enableReadyCheck ? () => this.send("INFO", ["server"]) : undefined;
    const serverIds = await outside(() => serverIdsOf(own.client, ask));
    if (own !== this.#own || own.client.status !== "ready") return;
    this.serverIds = serverIds;
    this.#stands = true;
    this.session += 1;
    this.#readyAt = systemRuntime.monotonic();
    this.#firstIsOver();
    this.#subscriber.reopen(this.#lostAt);
    for (const listener of this.#listeners) listener();
  }

  /** The user's client was led to another server: so is ours, which may be at one that serves on, for others. */
  #followServer(): void {
    const [theirs, ours] = [this.client, this.#own.client].map(serverOf);
    if (theirs && ours && theirs !== ours) this.#replace(`its client is connected to ${theirs} now`);
  }

  /** What the user's client does on this error, except that nothing is sent again. */
  #reconnectsOn(error: Error): boolean {
    const { reconnectOnError } = this.client.options as IoredisOptions;
    try {
      return Boolean(outside(() => reconnectOnError?.(error)));
    } catch (mistake) {
      // The user's own, and told as such: nothing here is to stop half-way.
      systemRuntime.setTimer(() => {
        throw mistake;
      }, 0);
      return false;
    }
  }

  #failed(own: Own, error: unknown): void {
    const message = error instanceof Error ? error.message : "";
    // That it is closed says nothing: why, an "error" event has told before.
    const tells = message !== "" && message !== "Connection is closed.";
    if (own === this.#own && tells) this.#reason = message;
    this.#over(own);
  }

  /** A connection that was replaced has no say any more. */
  #over(own: Own): void {
    if (own !== this.#own) return;
    if (this.#stands) this.#lostAt = systemRuntime.monotonic();
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
  readonly notReadyReason: string;
  /** It is the only one: where it is lost, no other one is made. */
  readonly session = 0;
  readonly #current: IoredisConnection;
  readonly #own: Own;

  constructor(current: IoredisConnection, own: Own, why: string) {
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

/** A client that was not connected yet would connect for a command, and nobody would end it. */
function canSend({ client }: Own): boolean {
  return client.status === "ready";
}

/** ioredis gives up in words of its own where masters only redirect. That is a reply of each: they are reached, a slot moves. */
function redirected(error: unknown): never {
  if (!(error instanceof Error && error.message.startsWith("Too many Cluster redirections"))) throw error;
  const reply = new Error(`TRYAGAIN the hash slot moves (${error.message})`);
  reply.name = "ReplyError";
  throw reply;
}

/** It is a replica by now, or no longer knows who we are. A script quotes the error. */
function isWrongServer({ message }: Error): boolean {
  return /\b(READONLY|NOAUTH)\b/.test(message);
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

/** The database that the client was last switched to, or is configured for. A Cluster has only one. */
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
    // A port, or a URL, which may have a password in front of the address.
    return `cluster at ${/[^/@]+(?=\/\d*$|$)/.exec(`${first}`)?.[0]}`;
  }
  return options.path ?? (options.sentinels ? options.name! : `${options.host}:${options.port}`);
}
