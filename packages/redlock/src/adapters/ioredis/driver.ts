import { outside } from "../../time/async-context.ts";
import { maxTimerDelay, type Timer } from "../../time/runtime.ts";
import { systemRuntime } from "../../time/system.ts";
import { boundedDelay } from "../dialer.ts";
import { Dials } from "../dials.ts";
import type { Driver, DriverEvents } from "../driver.ts";
import type { Link, OnMessage, SubscriberLink } from "../link.ts";
import { hasMethods, memberOf } from "../members.ts";
import type { IoredisClient, IoredisOptions } from "./client.ts";
import {
  ClusterLink,
  connectTimeoutOf,
  disconnect,
  type FixedOptions,
  RedisLink,
  SubscriberRedisLink,
} from "./link.ts";
import { addressOf, nameOf } from "./names.ts";
import { selectedBy, selectReplyOf, wasDisconnected } from "./private.ts";

export type { IoredisClient } from "./client.ts";

export function isIoredis(client: unknown): client is IoredisClient {
  // (An adapter to another library has the rest.)
  const isOne = hasMethods(client, "duplicate", "call") && typeof memberOf(client, "status") === "string";
  return isOne && typeof memberOf(client, "options") === "object";
}

/** The time that the user's connection has to say its database, ms. */
const askTime = 500;

/** A `Redis` or `Cluster` of ioredis 4.31, 5 or 6. */
export class IoredisDriver implements Driver {
  readonly client: IoredisClient;
  readonly name: string;
  readonly keyPrefix: string;
  readonly isCluster: boolean;
  readonly isDirected: boolean;
  readonly #dials = new Dials();
  /** How often a Sentinel has failed. */
  #failedSentinels = 0;

  constructor(client: IoredisClient) {
    this.client = client;
    this.isCluster = hasMethods(client, "nodes");
    this.name = nameOf(client, this.isCluster);
    this.keyPrefix = this.#options.keyPrefix ?? "";
    this.isDirected = Boolean(this.#options.sentinels);
  }

  get #options(): IoredisOptions {
    return this.client.options;
  }

  get status(): string {
    const { status } = this.client;
    // Once it has been connected again it is in use, whatever it has recorded before.
    const isResting = status === "reconnecting" || status === "disconnecting";
    return isResting && wasDisconnected(this.client) ? "end" : status;
  }

  /** The database that the client was last switched to or is configured for. */
  get database(): number | undefined {
    if (this.isCluster) return undefined;
    return selectedBy(this.client) ?? this.#options.db ?? 0;
  }

  /**
   * ioredis takes the database of a SELECT for the current one when it writes the command. Whether the server refused
   * it is known to nobody afterwards. A client that is blocked by another command does not answer in time.
   */
  askDatabase(): Promise<number | undefined> | undefined {
    if (this.isCluster || this.database === (this.#options.db ?? 0)) return undefined;
    return new Promise((resolve) => {
      const onReady = (): void => {
        const timer = systemRuntime.setTimer(() => resolve(undefined), askTime);
        void this.#ask("client", "info").then((info) => {
          timer.cancel();
          const [, database] = /\bdb=(\d+)/.exec(info) ?? [];
          resolve(database === undefined ? undefined : Number(database));
        });
      };
      // (After a reconnect, ioredis switches to its database behind the commands that were queued meanwhile.)
      if (this.status === "ready") onReady();
      else (this.client as CallingClient).once("ready", onReady);
    });
  }

  askServer(): Promise<string> {
    return this.#ask("info");
  }

  /** The reply to a command of the user's connection; empty if it is refused. */
  async #ask(...words: string[]): Promise<string> {
    try {
      return String(await outside(() => (this.client as CallingClient).call(...words)));
    } catch {
      return "";
    }
  }

  get asksServer(): boolean {
    return this.#options.enableReadyCheck ?? true;
  }

  open(database: number | undefined): Link {
    if (this.isCluster) return new ClusterLink(this.client);
    return this.#watched(new RedisLink(this.client, this.#fixed(database)));
  }

  openSubscriber(database: number | undefined, onMessage: OnMessage): SubscriberLink {
    return this.#watched(new SubscriberRedisLink(this.client, this.#fixed(database), onMessage));
  }

  /** A Sentinel that has failed is asked last by the next link: each begins with the first one. */
  #fixed(db: number | undefined): FixedOptions {
    const { sentinels } = this.#options;
    const first = sentinels ? this.#failedSentinels % sentinels.length : 0;
    return {
      ...(db !== undefined && { db }),
      keyPrefix: this.keyPrefix,
      ...(sentinels && { sentinels: [...sentinels.slice(first), ...sentinels.slice(0, first)] }),
    };
  }

  #watched<L extends RedisLink>(link: L): L {
    link.client.on("sentinelError", () => {
      this.#failedSentinels += 1;
    });
    return link;
  }

  get greetingTime(): number {
    // A Cluster limits the greetings of its nodes.
    return this.isCluster ? maxTimerDelay : connectTimeoutOf(this.#options);
  }

  delayAfter(failures: number, cause: Error): number | undefined {
    const { retryStrategy, clusterRetryStrategy } = this.#options;
    try {
      const delay = this.isCluster
        ? outside(() => clusterRetryStrategy?.(failures + 1, cause))
        : outside(() => retryStrategy?.(failures + 1));
      return typeof delay === "number" ? boundedDelay(delay) : undefined;
    } catch {
      // The error would end the process. The next call makes a new connection.
      return undefined;
    }
  }

  /** (A switched client emits `select` again after each reconnect.) */
  watch(events: DriverEvents): void {
    this.#watchEnd(events.onEnd);
    this.client.on("select", (database: number) => {
      // Emitted when the command is written: the server may refuse it.
      const reply = selectReplyOf(this.client, database);
      if (reply)
        reply.then(
          () => events.onSelect(database),
          () => void this.#onRefused(events),
        );
      else events.onSelect(database);
    });
    for (const event of ["connecting", "reconnecting"]) this.client.on(event, () => void this.dials);
    this.client.on("close", () => {
      // The status may be that of the next dial: an earlier listener has called `connect`.
      this.#dials.see(false);
      void this.dials;
    });
    const onReady = (): void => {
      this.#dials.ready();
      events.onReady();
    };
    this.client.on("ready", onReady);
    if (this.isCluster) this.#watchNodes(onReady);
  }

  /** In ioredis 5 and 6, a client that is disconnected between two attempts to connect emits no "end". */
  #watchEnd(onEnd: () => void): void {
    let timer: Timer | undefined;
    const checkLater = (): void => {
      timer?.cancel();
      timer = systemRuntime.setTimer(() => {
        if (this.status === "end") onEnd();
        else if (this.status !== "ready") checkLater();
      }, endCheckInterval);
      timer.unref();
    };
    this.client.on("end", onEnd);
    this.client.on("reconnecting", checkLater);
  }

  /**
   * A refused SELECT leaves the client where it is, which only the server knows: a new connection is in the first
   * database until ioredis has selected the latest one that was asked for (PROTOCOL 2.15).
   */
  async #onRefused({ onSelect }: DriverEvents): Promise<void> {
    const claimed = this.database;
    const database = await this.askDatabase();
    if (database !== undefined && claimed === this.database) onSelect(database);
  }

  /** A Cluster makes another client for a node that it has lost: the address of the node may have moved. */
  #watchNodes(onReady: () => void): void {
    const lost = new Set<string>();
    this.client.on("-node", ({ options }: ClusterNode) => lost.add(addressOf(options)));
    this.client.on("+node", (node: ClusterNode) => {
      if (!lost.delete(addressOf(node.options))) return;
      this.#dials.redial();
      node.on("ready", onReady);
    });
  }

  get dials(): Dials {
    this.#dials.see(dialed.has(this.status));
    return this.#dials;
  }

  reconnectsOnError(error: Error): boolean {
    return Boolean(outside(() => this.#options.reconnectOnError?.(error)));
  }

  isErrorReply(error: unknown): error is Error {
    if (!(error instanceof Error) || "code" in error) return false;
    // Marked so by ioredis, as a command is that was cut off; an error within the reply to EXEC is not.
    if ("command" in error) return !error.message.startsWith("Command aborted ");
    return /^[A-Z][A-Z\d_]+( |$)/.test(error.message);
  }

  close(): Promise<unknown> {
    return this.client.quit();
  }

  disconnect(): void {
    disconnect(this.client);
  }
}

/** The interval at which a client that reconnects is asked whether it has ended, ms. */
const endCheckInterval = 500;

type CallingClient = IoredisClient & {
  call(...words: string[]): Promise<unknown>;
  once(event: string, listener: () => void): unknown;
};

type ClusterNode = Pick<IoredisClient, "on"> & { readonly options: IoredisOptions };

/** The states of a client that is connected, or connecting. */
const dialed: ReadonlySet<string> = new Set(["connecting", "connect", "ready"]);
