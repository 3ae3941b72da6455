import { WeakListeners } from "../protocol/weak-listeners.ts";
import type { Args, Connection } from "../redis/connection.ts";
import { whyReserved } from "../settings/resources.ts";
import { outside } from "../time/async-context.ts";
import type { Timer } from "../time/runtime.ts";
import { afterTurn, systemRuntime } from "../time/system.ts";
import { hashSlot } from "./hash-slot.ts";
import { type OwnClient, runIdIn, type UserClient } from "./own-client.ts";
import { NotSent } from "./session.ts";
import { SilenceWatch } from "./silence-watch.ts";
import { Subscriber } from "./subscriber.ts";

/**
 * A connection younger than this is not replaced because of an error reply, ms: the server remains a replica
 * for a while, and reconnecting at once would only repeat the error.
 */
const minAge = 1000;

/** The minimum time between two first connections, ms: each call asks for one where the user's strategy gives up. */
const minConnectInterval = 50;

/** The time for which a connection waits for the word of the user's client, which another command may block, ms. */
const askTime = 100;

/** While a connection is in doubt and no second one shows where it leads, the user's client is asked, at this interval, ms. */
const doubtInterval = 1000;

/**
 * A second connection that is ready and has not answered for this many silences of the first one, or for this many
 * {@link doubtInterval}s, is silent as well. The first silences are short, and a server that holds back writes for a
 * while answers neither connection: each next one would be in vain.
 */
const silencePatience = 2;
const doubtPatience = 4;

/**
 * A connection of its own, with the address, credentials and options of the user's client.
 *
 * The user's client itself is unsuitable: by default client libraries keep commands while they are offline,
 * and ioredis *resends unanswered ones* after a reconnect, so a SET whose round was rolled back seconds ago
 * could still execute (PROTOCOL 2.2). Both can only be disabled for a whole connection, and the user's other
 * commands may rely on them. Also, a lock must not wait behind a BLPOP.
 *
 * It lives as long as the user's client: it ends and comes back with it, and follows it to another database,
 * another server or other credentials. It is replaced if the server reports that it is a replica, and if it
 * is silent while a second connection is not. Commands sent on the old connection are then rejected and never
 * resent (PROTOCOL 2.2).
 */
export class OwnConnection implements Connection {
  readonly name: string;
  readonly client: object;
  readonly #user: UserClient;
  readonly keyPrefix: string;
  readonly #listeners = new Set<() => void>();
  readonly #subscriber: Subscriber;
  readonly #moves: WeakListeners<[why: string]> = new WeakListeners();
  serverIds: readonly string[] = [];
  session = 0;
  #database: number | undefined;
  readonly #silence: SilenceWatch;
  readonly deliver: Connection["deliver"];
  #own: OwnClient;
  /** A second connection, made while the current one is silent or in doubt. It replaces that one, or is dropped. */
  #candidate: OwnClient | undefined;
  /** How many times it was found ready without having shown anything. */
  #unanswered = 0;
  /** Whether the current connection may lead to another server than the user's client (PROTOCOL 2.18). */
  #isInDoubt = false;
  /** Whether the user's client is being asked where it leads. */
  #isAsking = false;
  /** Runs while the connection is in doubt. */
  #doubtTimer: Timer | undefined;
  /** The dials of the user's client when a connection was dialed. */
  readonly #dialOf = new WeakMap<OwnClient, number>();
  /** The connection on which {@link serverIds} were asked for, until it is lost. */
  #identified: OwnClient | undefined;
  /** The connection that a candidate has replaced, until it has ended. */
  #silent: { readonly own: OwnClient; readonly successor: OwnClient } | undefined;
  /**
   * The times when the connection became ready and when the previous one was lost, by the monotonic clock.
   */
  #readyAt = 0;
  #lostAt = Number.NEGATIVE_INFINITY;
  /** Whether `onReady` was called: the status changes a moment earlier. */
  #isEstablished = false;
  /** Set while the first connection is being made. */
  #first: Promise<void> | undefined;
  #firstAt = Number.NEGATIVE_INFINITY;
  /** Called with `undefined` to send a command that was sent while in doubt, or with the reason why it never will be. */
  #held: Array<(error: NotSent | undefined) => void> = [];
  /** Set until the database of the user's client is known. */
  #askingDatabase: Promise<void> | undefined;
  #resolveFirst: () => void = () => {};
  #reason = "the connection is closed";
  /** How many nodes use it. */
  #nodes = 0;
  /** Whether all nodes have left it: it is made again for the next one. */
  #isLeft = false;

  constructor(user: UserClient) {
    this.client = user.client;
    this.#user = user;
    this.name = user.name;
    this.keyPrefix = user.keyPrefix;
    this.#database = user.database;
    this.#own = this.#open();
    const asked = user.askDatabase?.();
    if (asked) this.#askingDatabase = this.#takeDatabase(asked);
    this.deliver = user.deliver && this.#deliverBy(user.deliver);
    this.#silence = new SilenceWatch(systemRuntime, {
      onSilence: () => {
        if (this.#own.client.status !== "ready") return;
        // (While in doubt, it is given up by the time of its own.)
        if (!this.#isInDoubt) this.#dropSilentCandidate(silencePatience);
        if (!this.#candidate) this.#openCandidate();
      },
      onAnswer: () => {
        if (!this.#isInDoubt) this.#dropCandidate();
      },
      isErrorReply: (error) => user.isErrorReply(error),
    });
    this.#subscriber = new Subscriber(
      (events) => (user.status === "end" ? undefined : user.openSubscriber(this.#database, events)),
      (error) => user.isErrorReply(error),
      systemRuntime,
      () => user.dials,
    );
    user.watch({
      onReady: () => this.#followServer(),
      onSelect: (database) => this.#moveTo(database),
      onEnd: () => this.#rest(),
    });
    // A client that has not connected yet waits for its first command; otherwise the connection is made now.
    if (user.status !== "wait") void this.connectFirst();
  }

  get database(): number | undefined {
    return this.#database;
  }

  get isReady(): boolean {
    return !this.#isInDoubt && this.isOpen;
  }

  get isOpen(): boolean {
    return this.#isEstablished && this.#own.client.status === "ready";
  }

  get notReadyReason(): string {
    return this.#reason;
  }

  connectFirst(): Promise<void> | undefined {
    if (this.#first) return this.#first;
    const { status } = this.#own.client;
    // "end": the user's retry strategy has given up. This connection lives as long as the user's client.
    const unused = (status === "wait" || status === "end") && this.#user.status !== "end";
    if (!unused) return undefined;
    const now = systemRuntime.monotonic();
    if (status === "end") {
      if (now - this.#firstAt < minConnectInterval) return undefined;
      this.#own = this.#open();
    }
    this.#firstAt = now;
    const connecting = this.#letWait();
    if (this.#askingDatabase) void this.#askingDatabase.then(() => this.#connect());
    else this.#connect();
    return connecting;
  }

  #connect(): void {
    const own = this.#own;
    own.connect().catch((error: unknown) => {
      this.#onFailure(own, error);
      this.#onClosed(own);
    });
  }

  /** Nothing is sent to a database before it is known that the user's client is there (PROTOCOL 2.15). */
  async #takeDatabase(asked: Promise<number | undefined>): Promise<void> {
    const claimed = this.#database;
    const database = await asked;
    this.#askingDatabase = undefined;
    if (database === undefined || database === claimed || this.#database !== claimed) return;
    this.#database = database;
    this.#openAnother().end();
  }

  /** Commands wait until {@link #resolveFirst} is called. */
  #letWait(): Promise<void> {
    this.#first ??= new Promise<void>((resolve) => {
      this.#resolveFirst = () => {
        this.#first = undefined;
        resolve();
      };
    });
    return this.#first;
  }

  send(command: string, args: Args): Promise<unknown> {
    if (!this.isOpen) return Promise.reject(new NotSent(this.#reason));
    if (!this.#isInDoubt) return this.#sendOn(this.#own, command, args);
    return new Promise((resolve, reject) => {
      this.#held.push((error) => (error ? reject(error) : resolve(this.#sendOn(this.#own, command, args))));
    });
  }

  #sendOn(own: OwnClient, command: string, args: Args): Promise<unknown> {
    // A client that was never connected would connect for a command and never be closed.
    if (own.client.status !== "ready") return Promise.reject(new NotSent(this.#reason));
    const reply = own.send(command, args);
    // A Cluster has many connections.
    if (this.#user.isCluster || own !== this.#own) return reply;
    this.#silence.onSent();
    reply.then(
      () => this.#silence.onSettled(undefined),
      (error) => this.#silence.onSettled(error),
    );
    return reply;
  }

  #deliverBy(deliver: NonNullable<UserClient["deliver"]>): Connection["deliver"] {
    return (message, done) => {
      // As in {@link #sendOn}, but inlined: every lock passes here.
      if (this.#own.client.status !== "ready" || this.#isInDoubt) {
        if (!this.isOpen) throw new NotSent(this.#reason);
        this.send(message.command, message.args).then(done, (error: unknown) => done(undefined, error));
        return;
      }
      deliver(this.#own.client, message, (reply, error) => {
        this.#silence.onSettled(error);
        done(reply, error);
      });
      this.#silence.onSent();
    };
  }

  /** It is known where the connection leads, or it is over: what was begun on it goes on, or never will (PROTOCOL 2.16). */
  #settleHeld(): void {
    const error = this.isReady ? undefined : new NotSent(this.#reason);
    for (const settle of this.#held.splice(0)) settle(error);
  }

  onErrorReply(error: Error): void {
    const isOld = systemRuntime.monotonic() - this.#readyAt >= minAge;
    if (isOld && (isWrongServer(error) || this.#reconnectsOnError(error))) this.#replace(error.message);
  }

  isErrorReply(error: unknown): error is Error {
    return this.#user.isErrorReply(error);
  }

  refuses(resources: readonly string[]): string | undefined {
    const why = this.keyPrefix === "" ? undefined : whyReserved(resources, this.keyPrefix);
    if (why) return why;
    if (!this.isCluster || resources.length === 1) return undefined;
    const slots = new Set(resources.map((resource) => hashSlot(this.keyPrefix + resource)));
    if (slots.size === 1) return undefined;
    return "on a Redis Cluster the resources of one lock must share a hash slot; give them a common {hash tag}";
  }

  get isCluster(): boolean {
    return this.#user.isCluster;
  }

  subscribe(
    channel: string,
    onMessage: (message: string) => void,
    onChange: (isListening: boolean, error?: unknown) => void,
  ): unknown {
    const subscription = { onMessage, onChange };
    this.#subscriber.subscribe(channel, subscription);
    return subscription;
  }

  onMove(listener: (why: string) => void): void {
    this.#moves.add(listener);
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  join(): void {
    this.#nodes += 1;
    this.#isLeft = false;
  }

  leave(): void {
    this.#nodes -= 1;
    if (this.#nodes > 0) return;
    this.#isLeft = true;
    this.#rest();
  }

  /** Ends all connections. Another is made when it is needed, unless the user's client has ended. */
  #rest(): void {
    this.#replaceOwn();
    this.#subscriber.end();
  }

  async close(): Promise<void> {
    this.#end();
    // A client that is not connected would keep commands in its queue.
    if (this.#user.status === "ready") await this.#user.close();
    else this.disconnect();
  }

  disconnect(): void {
    this.#end();
    this.#user.disconnect();
  }

  #end(): void {
    // It may be ready until it is closed.
    this.#onClosed(this.#own);
    this.#own.end();
    this.#dropCandidate();
    this.#isInDoubt = false;
    this.#subscriber.end();
  }

  /** A switched client emits this again after each reconnect. */
  #moveTo(database: number): void {
    if (database === this.#database) return;
    const why = `the client of ${this.name} was switched from database ${this.#database} to ${database}`;
    this.#database = database;
    this.#reason = why;
    this.#replaceOwn();
    this.#moves.call(why);
  }

  /** Commands sent on the old connection are answered with a fault; the next call makes a new connection. */
  #replaceOwn(): void {
    const old = this.#openAnother();
    this.#onClosed(this.#own);
    old.end();
  }

  /** Returns the connection before. */
  #openAnother(): OwnClient {
    const old = this.#own;
    this.#dropCandidate();
    this.#isInDoubt = false;
    this.#own = this.#open();
    return old;
  }

  /** Closes a connection to the wrong server; its client makes another. */
  #replace(why: string): void {
    if (!this.isReady || this.#user.isCluster) return;
    this.#onClosed(this.#own);
    this.#reason = why;
    this.#own.cut();
  }

  #openCandidate(): void {
    this.#candidate = this.#open();
    this.#candidate.connect().catch(() => {});
  }

  #dropCandidate(): void {
    const candidate = this.#candidate;
    this.#candidate = undefined;
    candidate?.drop();
  }

  /** Its way may be cut after its greeting: it would be waited for as long as the first one, which is for ever. */
  #dropSilentCandidate(patience: number): void {
    if (this.#candidate?.client.status !== "ready") return;
    this.#unanswered += 1;
    if (this.#unanswered >= patience) this.#dropCandidate();
  }

  /** A second connection is ready: decides between it and the current one. */
  async #judge(candidate: OwnClient): Promise<void> {
    this.#unanswered = 0;
    const serverIds = await outside(() => this.#identify(candidate));
    if (serverIds && !this.#isInDoubt) await this.#untilItWrites(candidate);
    if (!serverIds || candidate !== this.#candidate || candidate.client.status !== "ready") return;
    if (this.#isBehind(candidate)) this.#compare();
    else if (this.#isInDoubt && this.#leadsTo(serverIds)) this.#trust(this.#dialOf.get(candidate)!);
    else this.#switchTo(candidate);
  }

  /** The current connection leads to the server of this dial of the user's client: it goes on. */
  #trust(dial: number): void {
    this.#dialOf.set(this.#own, dial);
    void this.#isAtUsers(this.#own);
    this.#dropCandidate();
    this.#isInDoubt = false;
    if (!this.#isEstablished) {
      this.#establish();
      return;
    }
    this.#settleHeld();
    this.#resolveFirst();
  }

  /**
   * The current connection is silent: the server is slow, or the network is cut. No timeout can distinguish the two,
   * but a new connection can: a slow server answers it no earlier than earlier commands. It answers a write, because a
   * server may hold back those alone (CLIENT PAUSE WRITE).
   */
  async #untilItWrites(candidate: OwnClient): Promise<void> {
    await candidate.send("SET", ["quorlock:silence", "", "XX", "PX", 1]).catch(() => {});
    // A server writes the answers of one turn to its connections in any order. A round trip later, those to earlier
    // commands have arrived, some in the same turn.
    await candidate.send("PING", []).catch(() => {});
    await new Promise<void>((resolve) => afterTurn(resolve));
  }

  /** Whether the current connection leads to this server. */
  #leadsTo([server]: readonly string[]): boolean {
    const isKnown = this.#identified === this.#own && this.#own.client.status === "ready";
    return isKnown && server !== undefined && this.serverIds.includes(server);
  }

  /** Commands on the replaced connection are rejected before anything is sent on the new one. */
  #switchTo(candidate: OwnClient): void {
    const old = this.#own;
    this.#onLost();
    if (!this.#isInDoubt) {
      this.#resolveFirst();
      this.#reason = "the connection was silent and is being replaced";
    }
    this.#own = candidate;
    this.#candidate = undefined;
    const mayHaveCommands = old.client.status === "ready";
    if (mayHaveCommands) this.#silent = { own: old, successor: candidate };
    old.drop();
    if (!mayHaveCommands) void this.#onConnected(candidate);
  }

  #onEnded(own: OwnClient): void {
    if (own === this.#candidate) {
      this.#candidate = undefined;
      if (this.#isInDoubt) void this.#askUser();
    }
    this.#onClosed(own);
    if (own !== this.#silent?.own) return;
    const { successor } = this.#silent;
    this.#silent = undefined;
    if (successor.client.status === "ready") void this.#onConnected(successor);
  }

  #open(): OwnClient {
    const own: OwnClient = this.#user.open(this.#database, {
      onDial: () => this.#dialOf.set(own, this.#user.dials.begun),
      onReady: () => {
        if (own === this.#candidate) void this.#judge(own);
        else void this.#onConnected(own);
      },
      onClose: () => this.#onClosed(own),
      onEnd: () => this.#onEnded(own),
      onFailure: (error) => this.#onFailure(own, error),
      onOutdated: () => {
        if (own === this.#own) this.#replaceOwn();
      },
    });
    return own;
  }

  /** Identifies the server before anything else is sent. */
  async #onConnected(own: OwnClient): Promise<void> {
    if (own !== this.#own) return;
    const serverIds = own.addresses ?? (await outside(() => this.#identify(own)));
    if (!serverIds || own !== this.#own || own.client.status !== "ready") return;
    this.serverIds = serverIds;
    this.#identified = own;
    // A comparison that takes too long counts as right, and is corrected later.
    const late = new Promise((resolve) => systemRuntime.setTimer(() => resolve(true), askTime).unref());
    const isThere = await Promise.race([this.#isAtUsers(own), late]);
    if (!isThere || own !== this.#own || this.#identified !== own) return;
    if (this.#isBehind(own)) this.#compare();
    else this.#establish();
  }

  /**
   * Whether the connection leads to the server of the user's client, as far as both are told: options may have another
   * address (PROTOCOL 2.18). A client at a replica has not seen a failover yet.
   */
  async #isAtUsers(own: OwnClient): Promise<boolean> {
    const user = this.#user;
    const [server] = this.serverIds;
    if (server === undefined || own.addresses || user.isDirected || user.status !== "ready") return true;
    const dial = user.dials.connected;
    const info = String(await user.askServer?.().catch(() => ""));
    const theirs = runIdIn(info);
    const isSame = theirs === undefined || theirs === server || /^role:slave/m.test(info);
    if (isSame || this.#identified !== own || dial !== user.dials.connected) return true;
    // It is made again, but not faster than once a second.
    if (this.#isEstablished) own.cut();
    else systemRuntime.setTimer(() => this.#isEstablished || own.cut(), doubtInterval).unref();
    this.#onClosed(own);
    this.#reason = `its options lead to server ${server}, but it is connected to port ${/^tcp_port:(\d+)/m.exec(info)?.[1]}, server ${theirs}: give each client options of its own, its socket object too`;
    return false;
  }

  #establish(): void {
    this.#dropCandidate();
    this.#isInDoubt = false;
    this.#isEstablished = true;
    this.session += 1;
    this.#readyAt = systemRuntime.monotonic();
    this.#resolveFirst();
    this.#subscriber.reopen(this.#lostAt);
    for (const listener of this.#listeners) listener();
  }

  /**
   * The run id of the server (PROTOCOL 2.9); empty if it cannot be had. `undefined` if the connection is unusable, or
   * if the server refuses to say it at the moment: the connection is then made again.
   */
  async #identify(own: OwnClient): Promise<readonly string[] | undefined> {
    if (!this.#user.asksServer) return [];
    try {
      const found = runIdIn(await this.#sendOn(own, "INFO", ["server"]));
      return found === undefined ? [] : [found];
    } catch (error) {
      if (this.isErrorReply(error) && isUnavailable(error)) return [];
      // Any other error is temporary.
      if (own.client.status !== "ready") return undefined;
      own.cut();
      this.#onFailure(own, error);
      return undefined;
    }
  }

  /** The user's client has connected, perhaps to another server: these connections follow. */
  #followServer(): void {
    if (this.#isLeft) return;
    this.#subscriber.reopen();
    if (this.#isBehind(this.#own)) this.#compare();
    else if (this.#identified === this.#own) void this.#isAtUsers(this.#own);
  }

  /** Whether the connection of the user's client was dialed after this one (PROTOCOL 2.18). */
  #isBehind(own: OwnClient): boolean {
    return (this.#dialOf.get(own) ?? Number.POSITIVE_INFINITY) < this.#user.dials.connected;
  }

  /**
   * The address may have led to another server when the current connection was dialed. A second connection shows where
   * it leads now; commands wait for that (PROTOCOL 2.18).
   */
  #compare(): void {
    if (this.#user.isCluster) {
      // Its connections are many, and those of its library.
      this.#replaceOwn();
      void this.connectFirst();
      return;
    }
    this.#isInDoubt = true;
    if (this.#own.client.status === "ready")
      this.#reason = "its client has reconnected, perhaps to another server";
    if (this.#isEstablished) void this.#letWait();
    if (!this.#candidate || this.#isBehind(this.#candidate)) {
      this.#dropCandidate();
      this.#openCandidate();
    }
    this.#askUserLater();
  }

  #askUserLater(): void {
    this.#doubtTimer?.cancel();
    this.#doubtTimer = systemRuntime.setTimer(() => {
      if (!this.#isInDoubt) return;
      this.#askUserLater();
      // The user's strategy has given the second one up.
      if (!this.#candidate) {
        this.#own.cut();
        return;
      }
      this.#dropSilentCandidate(doubtPatience);
      if (!this.#candidate) this.#openCandidate();
      void this.#askUser();
    }, doubtInterval);
    this.#doubtTimer.unref();
  }

  /**
   * A server may refuse a second connection, or the network drop it, while it answers on the first two: then the user's
   * client says where it leads (PROTOCOL 2.18), even if it is blocked for a while.
   */
  async #askUser(): Promise<void> {
    const user = this.#user;
    if (this.#isAsking || !user.asksServer) return;
    this.#isAsking = true;
    const own = this.#own;
    const dial = user.dials.connected;
    const server = runIdIn(await user.askServer?.().catch(() => undefined));
    this.#isAsking = false;
    const isCurrent = this.#isInDoubt && own === this.#own && dial === user.dials.connected;
    if (server !== undefined && isCurrent && this.#leadsTo([server])) this.#trust(dial);
  }

  /** Does the same as the user's client on this error, without resending anything. */
  #reconnectsOnError(error: Error): boolean {
    try {
      return this.#user.reconnectsOnError(error);
    } catch (mistake) {
      // An error of the user's function, thrown as such: nothing here is interrupted.
      systemRuntime.setTimer(() => {
        throw mistake;
      }, 0);
      return false;
    }
  }

  #onFailure(own: OwnClient, error: unknown): void {
    const why = error instanceof Error ? error.message || error.name : String(error);
    // (This says nothing: an "error" event has reported the reason.)
    if ((own === this.#own || this.#isInDoubt) && why !== "Connection is closed.") this.#reason = why;
  }

  /** Events of a replaced connection are ignored. */
  #onClosed(own: OwnClient): void {
    if (own !== this.#own) return;
    this.#onLost();
    this.#resolveFirst();
  }

  #onLost(): void {
    if (this.#isEstablished) this.#lostAt = systemRuntime.monotonic();
    this.#isEstablished = false;
    // Its client may make the next connection to another server.
    this.#identified = undefined;
    this.#settleHeld();
  }
}

/** The server does not have the command, or not for this user. */
function isUnavailable({ message }: Error): boolean {
  return /^(NOPERM\b|ERR .*\b(unknown|unsupported|not supported)\b)/i.test(message);
}

/** The server is a replica, or no longer knows the user. A script quotes the error within its own. */
function isWrongServer({ message }: Error): boolean {
  return /\b(READONLY|NOAUTH)\b/.test(message);
}
