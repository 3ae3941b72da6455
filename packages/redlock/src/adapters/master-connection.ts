import { InvalidArgumentError } from "../errors.ts";
import { WeakListeners } from "../protocol/weak-listeners.ts";
import type { Args, Connection, Done, Message } from "../redis/connection.ts";
import { whyReserved } from "../settings/resources.ts";
import { systemRuntime } from "../time/system.ts";
import { CurrentLink } from "./current-link.ts";
import type { Driver } from "./driver.ts";
import { hashSlot } from "./hash-slot.ts";
import { type Link, promised } from "./link.ts";
import { Subscriber } from "./subscriber.ts";

/**
 * The connection to one master, with the address, credentials and options of the user's client.
 *
 * The user's client itself is unsuitable: by default client libraries keep commands while they are offline,
 * and ioredis *resends unanswered ones* after a reconnect, so a SET whose round was rolled back seconds ago
 * could still execute (PROTOCOL 2.2). Both can only be disabled for a whole connection, and the user's other
 * commands may rely on them. Also, a lock must not wait behind a BLPOP.
 *
 * It lives as long as the user's client: it ends and comes back with it, and follows it to another database,
 * another server or other credentials.
 */
export class MasterConnection implements Connection {
  readonly name: string;
  readonly client: object;
  readonly keyPrefix: string;
  readonly isCluster: boolean;
  session = 0;
  database: number | undefined;
  readonly deliver: (message: Message, done: Done) => void;
  readonly #driver: Driver;
  readonly #listeners = new Set<() => void>();
  readonly #moves: WeakListeners<[why: string]> = new WeakListeners();
  readonly #subscriber: Subscriber;
  readonly #link: CurrentLink;
  /** Set until the database of the user's client is known. */
  #askingDatabase: Promise<void> | undefined;
  /** How many nodes use it. With none left it is made again for the next one; `undefined` before the first. */
  #nodes: number | undefined;

  constructor(driver: Driver) {
    this.client = driver.client;
    this.#driver = driver;
    this.name = driver.name;
    this.keyPrefix = driver.keyPrefix;
    this.isCluster = driver.isCluster;
    this.database = driver.database;
    const open = (): Link => driver.open(this.database);
    this.#link = new CurrentLink(driver, open, () => this.#onEstablished());
    this.deliver = this.#link.deliver;
    try {
      open().end();
    } catch (error) {
      // A client whose duplicates cannot be used is refused. Any other error may be one of this moment.
      if (error instanceof InvalidArgumentError) throw error;
    }
    const asked = driver.askDatabase?.();
    if (asked) this.#askingDatabase = this.#takeDatabase(asked);
    this.#subscriber = new Subscriber(driver, () => this.database, systemRuntime);
    driver.watch({
      onReady: () => this.#follow(),
      onSelect: (database) => this.#moveTo(database),
      onEnd: () => this.#rest(),
    });
    // A client that has not connected yet waits for its first command; otherwise the connection is made now.
    if (driver.status !== "wait") void this.connectFirst();
  }

  get serverIds(): readonly string[] {
    return this.#link.server.found?.ids ?? [];
  }

  get isReady(): boolean {
    return this.#link.isReady;
  }

  get isOpen(): boolean {
    return this.#link.isOpen;
  }

  get notReadyReason(): string {
    return this.#link.reason;
  }

  connectFirst(): Promise<void> | undefined {
    return this.#link.connectFirst(this.#askingDatabase);
  }

  /** Nothing is sent to a database before it is known that the user's client is there (PROTOCOL 2.15). */
  async #takeDatabase(asked: Promise<number | undefined>): Promise<void> {
    const claimed = this.database;
    const database = await asked;
    this.#askingDatabase = undefined;
    if (database !== undefined && this.database === claimed) this.database = database;
  }

  send(command: string, args: Args): Promise<unknown> {
    return promised((done) => this.deliver({ command, args }, done));
  }

  onErrorReply(error: Error): void {
    this.#link.replaceIf(() => isWrongServer(error) || this.#reconnectsOnError(error), error.message);
  }

  /** Does the same as the user's client on this error, without resending anything. */
  #reconnectsOnError(error: Error): boolean {
    try {
      return this.#driver.reconnectsOnError(error);
    } catch (mistake) {
      // An error of the user's function, thrown as such: nothing here is interrupted.
      systemRuntime.setTimer(() => {
        throw mistake;
      }, 0);
      return false;
    }
  }

  isErrorReply(error: unknown): error is Error {
    return this.#driver.isErrorReply(error);
  }

  refuses(resources: readonly string[]): string | undefined {
    const why = this.keyPrefix === "" ? undefined : whyReserved(resources, this.keyPrefix);
    if (why) return why;
    if (!this.isCluster || resources.length === 1) return undefined;
    const slots = new Set(resources.map((resource) => hashSlot(this.keyPrefix + resource)));
    if (slots.size === 1) return undefined;
    return "on a Redis Cluster the resources of one lock must share a hash slot; give them a common {hash tag}";
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
    this.#nodes = (this.#nodes ?? 0) + 1;
  }

  leave(): void {
    this.#nodes! -= 1;
    if (this.#nodes === 0) this.#rest();
  }

  /** Ends all connections. Another is made when it is needed, unless the user's client has ended. */
  #rest(): void {
    this.#link.renew();
    this.#subscriber.end();
  }

  async close(): Promise<void> {
    this.#rest();
    // A client that is not connected would keep commands in its queue.
    if (this.#driver.status === "ready") await this.#driver.close();
    else this.disconnect();
  }

  disconnect(): void {
    this.#rest();
    this.#driver.disconnect();
  }

  /** A switched client emits this again after each reconnect. */
  #moveTo(database: number): void {
    if (database === this.database) return;
    const why = `the client of ${this.name} was switched from database ${this.database} to ${database}`;
    this.database = database;
    this.#link.renew(why);
    this.#moves.call(why);
  }

  /** The user's client has connected, perhaps to another server: these connections follow. */
  #follow(): void {
    if (this.#nodes === 0) return;
    this.#subscriber.reopen();
    this.#link.follow();
  }

  #onEstablished(): void {
    this.session += 1;
    this.#subscriber.reopen(this.#link.lostAt);
    for (const listener of this.#listeners) listener();
  }
}

/** The server is a replica, or no longer knows the user. A script quotes the error within its own. */
function isWrongServer({ message }: Error): boolean {
  return /\b(READONLY|NOAUTH)\b/.test(message);
}
