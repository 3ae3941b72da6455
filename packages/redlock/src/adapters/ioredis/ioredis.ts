import { outside } from "../../time/async-context.ts";
import { systemRuntime } from "../../time/system.ts";
import { Dials } from "../dials.ts";
import type {
  OwnClient,
  OwnEvents,
  SubscriberClient,
  SubscriberEvents,
  UserClient,
  UserEvents,
} from "../own-client.ts";
import {
  ClusterDuplicate,
  Duplicate,
  end,
  type IoredisClient,
  type IoredisOptions,
  isEnded,
  onEnd,
  SubscriberDuplicate,
} from "./duplicate.ts";

export type { IoredisClient } from "./duplicate.ts";

export function isIoredis(client: unknown): client is IoredisClient {
  const { duplicate, call, sendCommand, status } = (client ?? {}) as Partial<Record<string, unknown>>;
  // All that is used to make and send commands: an adapter to another library has the rest.
  const methods = [duplicate, call, sendCommand];
  return typeof status === "string" && methods.every((method) => typeof method === "function");
}

/** The time that the user's connection has to say its database, ms. */
const askTime = 500;

/** A `Redis` or `Cluster` of ioredis 5 or 6. */
export class IoredisUser implements UserClient {
  readonly client: IoredisClient;
  readonly name: string;
  readonly keyPrefix: string;
  readonly isCluster: boolean;
  readonly isDirected: boolean;
  readonly #dials = new Dials();
  /**
   * Without promises, if this version of ioredis allows it. Not on a Cluster, where ioredis resends a command
   * after a slot has moved.
   */
  deliver: UserClient["deliver"];

  constructor(client: IoredisClient) {
    this.client = client;
    this.name = nameOf(client);
    this.keyPrefix = this.#options.keyPrefix ?? "";
    this.isCluster = client.isCluster === true;
    this.isDirected = Boolean(this.#options.sentinels);
  }

  get #options(): IoredisOptions {
    return this.client.options;
  }

  get status(): string {
    const { status } = this.client;
    // Once it has been connected again it is in use, whatever it has recorded before.
    const isResting = status === "reconnecting" || status === "disconnecting";
    return isResting && isEnded(this.client) ? "end" : status;
  }

  /** The database that the client was last switched to or is configured for. */
  get database(): number | undefined {
    if (this.isCluster) return undefined;
    const { condition, prevCondition } = this.client as Partial<Conditions>;
    // While it reconnects, it is about to switch to the previous one again.
    return (prevCondition ?? condition)?.select ?? this.#options.db ?? 0;
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

  open(database: number | undefined, events: OwnEvents): OwnClient {
    if (this.isCluster) return new ClusterDuplicate(this.client, events);
    const onFailure = (error: unknown): void => events.onFailure(withoutPath(error, this.#options.path));
    const fixed = { db: database, keyPrefix: this.keyPrefix };
    const own = new Duplicate(this.client, fixed, { ...events, onFailure });
    this.deliver = own.deliver;
    return own;
  }

  openSubscriber(database: number | undefined, events: SubscriberEvents): SubscriberClient {
    return new SubscriberDuplicate(this.client, { db: database, keyPrefix: this.keyPrefix }, events);
  }

  /** (A switched client emits `select` again after each reconnect.) */
  watch(events: UserEvents): void {
    onEnd(this.client, events.onEnd);
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

  /**
   * A refused SELECT leaves the client where it is, which only the server knows: a new connection is in the first
   * database until ioredis has selected the latest one that was asked for (PROTOCOL 2.15).
   */
  async #onRefused({ onSelect }: UserEvents): Promise<void> {
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
    end(this.client);
  }
}

type Conditions = Record<"condition" | "prevCondition", { readonly select?: number } | null>;

type CallingClient = IoredisClient & {
  call(...words: string[]): Promise<unknown>;
  once(event: string, listener: () => void): unknown;
};

type ClusterNode = Pick<IoredisClient, "on"> & { readonly options: IoredisOptions };

function addressOf({ host, port }: IoredisOptions): string {
  return `${host}:${port}`;
}

interface QueuedCommand {
  readonly name: string;
  readonly args: readonly unknown[];
  readonly promise: Promise<unknown>;
}

type CommandQueue = { peekBack(): { readonly command: QueuedCommand } | undefined } | undefined;

/** The reply to the SELECT that was the latest command; `undefined` if this version of ioredis does not keep it. */
function selectReplyOf(client: object, database: number): Promise<unknown> | undefined {
  const { commandQueue, offlineQueue } = client as {
    commandQueue?: CommandQueue;
    offlineQueue?: CommandQueue;
  };
  for (const queue of [commandQueue, offlineQueue]) {
    const command = queue?.peekBack?.()?.command;
    if (command?.name === "select" && Number(command.args[0]) === database) return command.promise;
  }
  return undefined;
}

/** The states of a client that is connected, or connecting. */
const dialed = new Set(["connecting", "connect", "ready"]);

function nameOf(client: IoredisClient): string {
  const options = client.options as IoredisOptions;
  if (client.isCluster) {
    const [first] =
      (client as { startupNodes?: ReadonlyArray<IoredisOptions | string | number> }).startupNodes ?? [];
    if (typeof first === "object") return `cluster at ${first.host}:${first.port}`;
    return `cluster at ${typeof first === "string" ? addressIn(first) : first}`;
  }
  if (options.path !== undefined) return pathIn(options.path);
  return options.sentinels ? options.name! : `${options.host}:${options.port}`;
}

/** A path. To ioredis, a URL with an unknown scheme is one as well, and may contain a password. */
function pathIn(path: string): string {
  return path.includes("@") || path.includes("?") ? addressIn(path) : path;
}

/** The error of a connection, without what {@link pathIn} hides: ioredis quotes the path. */
function withoutPath(error: unknown, path: string | undefined): unknown {
  if (!(error instanceof Error) || path === undefined || pathIn(path) === path) return error;
  return new Error(error.message.replaceAll(path, () => pathIn(path)));
}

/** The host and port of a URL, which may contain a password before them and behind them. Nothing else of it is shown. */
function addressIn(url: string): string {
  const [, host, rest = ""] = /^(?:(?:[a-z]+:)?\/\/)?(?:[^/?#@]*@)?([^/?#@]*)(.*)$/is.exec(url) ?? [];
  const isPlain =
    host !== undefined && /^(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?$/i.test(host) && !rest.includes("@");
  return isPlain ? host : "an unusual address";
}
