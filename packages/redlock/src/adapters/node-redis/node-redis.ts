import { InvalidArgumentError } from "../../errors.ts";
import type { Done, Message } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { afterTurn, systemRuntime } from "../../time/system.ts";
import { Dials } from "../dials.ts";
import type {
  OwnClient,
  OwnEvents,
  SubscriberClient,
  SubscriberEvents,
  UserClient,
  UserEvents,
} from "../own-client.ts";
import { type ClusterClient, ClusterDuplicate, type ClusterOptions, clusterOptionsOf } from "./cluster.ts";
import {
  Duplicate,
  destroy,
  isErrorReply,
  type NodeRedisClient,
  type NodeRedisOptions,
  optionsOf,
  SubscriberDuplicate,
} from "./duplicate.ts";

export type { NodeRedisClient } from "./duplicate.ts";

/** The functions that only some of the clients of node-redis have. */
const kinds = [
  ["getSentinelNode", "sentinel"],
  ["execute", "pool"],
  ["nodeClient", "cluster"],
  ["duplicate", "client"],
] as const;

/** The kind of a client of node-redis 5 or 6; `undefined` for anything else. */
export function kindOfNodeRedis(client: unknown): (typeof kinds)[number][1] | undefined {
  if (typeof client !== "object" || client === null) return undefined;
  const candidate = client as Readonly<Record<string, unknown>>;
  // The clients of node-redis 4 have no `destroy`.
  const { isOpen, sendCommand, destroy: end } = candidate;
  if (typeof isOpen !== "boolean" || typeof sendCommand !== "function" || typeof end !== "function") return;
  return kinds.find(([name]) => typeof candidate[name] === "function")?.[1];
}

export function isNodeRedis(client: unknown): client is NodeRedisClient {
  const kind = kindOfNodeRedis(client);
  return kind === "client" || kind === "cluster";
}

/** Throws if the address of one cannot be known: clients that share a socket object write that of their url into it. */
export function checkAddresses(clients: readonly unknown[]): void {
  const options = clients.filter(isNodeRedis).map(optionsOf);
  for (const { socket, url } of options) {
    const isInUrl = url !== undefined && (socket?.port === undefined || /:\d+(\/|$)/.test(url));
    if (isInUrl || !socket || options.filter((other) => other.socket === socket).length === 1) continue;
    throw new InvalidArgumentError(
      "clients of node-redis share one socket object, so the address in it may be that of another: give each its own",
    );
  }
}

/** A client of `createClient` or `createCluster` of node-redis 5 or 6. */
export class NodeRedisUser implements UserClient {
  readonly client: NodeRedisClient;
  readonly name: string;
  readonly keyPrefix: string;
  readonly isCluster: boolean;
  /**
   * The database of the options. node-redis does not report a later `select`, and a lock must not change its database
   * unnoticed.
   */
  readonly database: number | undefined;
  readonly asksServer = true;
  readonly deliver: UserClient["deliver"];
  /** Whether it was closed. Otherwise it looks like one that was never opened, or whose idle connection was closed. */
  #isEnded: boolean;
  /** Whether it was opened, and not closed by its own `socketTimeout`, which is no reason to end locks. */
  #isInUse: boolean;
  /** Whether its current dial has ended, as far as events tell. */
  #hasDialed = false;
  /** Whether it is to be destroyed when its current dial has ended. */
  #isEnding = false;
  readonly #dials = new Dials();

  constructor(client: NodeRedisClient) {
    const { socketEpoch = 0 } = client as { socketEpoch?: number };
    this.client = client;
    this.isCluster = kindOfNodeRedis(client) === "cluster";
    const options = this.isCluster ? clusterOptionsOf(client) : optionsOf(client);
    this.name = this.isCluster ? clusterNameOf(options) : nameOf(options);
    const { keyPrefix = "" } = options;
    this.keyPrefix = typeof keyPrefix === "string" ? keyPrefix : new TextDecoder().decode(keyPrefix);
    this.database = this.isCluster ? undefined : (optionsOf(client).database ?? 0);
    this.#isEnded = !client.isOpen && socketEpoch > 0;
    this.#isInUse = client.isOpen;
    // A Cluster sends a command again after a slot has moved.
    this.deliver = this.isCluster ? undefined : deliver;
  }

  get status(): string {
    if (this.#isEnded) return "end";
    // No event tells that its connection was lost while it was being closed.
    if (!this.client.isOpen) return this.#isInUse ? "end" : "wait";
    return (this.client as { isReady?: boolean }).isReady === false ? "connecting" : "ready";
  }

  open(database: number | undefined, events: OwnEvents): OwnClient {
    if (this.isCluster) return new ClusterDuplicate(this, events);
    return new Duplicate(this, database, events);
  }

  openSubscriber(database: number | undefined, events: SubscriberEvents): SubscriberClient {
    return new SubscriberDuplicate(this, database, events);
  }

  watch({ onReady, onEnd }: UserEvents): void {
    const { client } = this;
    // (Its greeting has begun a turn later: only then does it reject the `connect` of the user.)
    const onDialed = (): void => {
      this.#hasDialed = true;
      if (this.#isEnding) afterTurn(() => this.#endDialed());
    };
    client.on("connect", () => {
      this.#isInUse = true;
      onDialed();
      // One of 6 that was destroyed while it connected can be destroyed again. (One of 5 cannot.)
      if (!client.isOpen) afterTurn(() => outside(() => destroy(client)));
      else if (!this.#isEnding) this.#isEnded = false;
    });
    const onConnected = (): void => {
      onDialed();
      // Its end is about to take effect.
      if (this.status === "end") return;
      this.#dials.ready();
      onReady();
    };
    client.on("ready", onConnected);
    client.on("reconnecting", () => {
      this.#hasDialed = false;
      this.#dials.redial();
    });
    if (this.isCluster) this.#watchNodes(onConnected);
    const onOver = (): void => {
      this.#isEnded = true;
      this.#isEnding = false;
      this.#hasDialed = false;
      // Questions of this turn that were asked before are sent first.
      void Promise.resolve().then(onEnd);
    };
    client.on("end", onOver);
    // Emitted by a Cluster that is closed.
    client.on("disconnect", onOver);
    // No "end" is emitted if its reconnect strategy gives up.
    // (A wrapper binds even the class.)
    const { constructor: EventEmitter } = Object.getPrototypeOf(client) as object;
    const { errorMonitor } = EventEmitter as unknown as { readonly errorMonitor: string };
    client.on(errorMonitor, (error: unknown) => {
      this.#hasDialed = client.isOpen;
      this.#endDialed();
      if (client.isOpen) return;
      if (error instanceof Error && error.message.startsWith("Socket timeout")) this.#isInUse = false;
      else onOver();
    });
  }

  #endDialed(): void {
    if (!this.#isEnding) return;
    this.#isEnding = false;
    outside(() => destroy(this.client));
  }

  /** The nodes of a Cluster reconnect by themselves. Version 5 reports only their first connection. */
  #watchNodes(onReady: () => void): void {
    const watched = new WeakSet<object>();
    this.client.on("node-reconnecting", () => {
      this.#dials.redial();
      for (const { client: node } of (this.client as unknown as ClusterClient).nodeByAddress.values()) {
        if (!node || watched.has(node)) continue;
        watched.add(node);
        node.on("ready", onReady);
      }
    });
  }

  get dials(): Dials {
    this.#dials.see(this.client.isOpen);
    return this.#dials;
  }

  reconnectsOnError(): boolean {
    return false;
  }

  async askServer(): Promise<unknown> {
    const words = [["INFO"]] as never[];
    return outside(() => this.client.sendCommand(...words));
  }

  isErrorReply(error: unknown): error is Error {
    return isErrorReply(error);
  }

  /**
   * `close` of node-redis waits for a hung server, and `destroy` after it throws in version 5. So pending commands
   * are awaited by one behind them, on each connection.
   */
  async close(): Promise<void> {
    await Promise.all(this.#connected.map((client) => this.#answersAll(client)));
    this.disconnect();
  }

  /** The clients that are connected: of a Cluster, those of its nodes. */
  get #connected(): AskedClient[] {
    if (!this.isCluster) return [this.client as unknown as AskedClient];
    const nodes = [...(this.client as unknown as ClusterClient).nodeByAddress.values()];
    return nodes.flatMap(({ client }) => (client?.isReady ? [client as unknown as AskedClient] : []));
  }

  /** Resolves when the server has answered everything, or the connection is lost. */
  async #answersAll(client: AskedClient): Promise<void> {
    let isOver = false;
    while (!isOver) {
      const error: unknown = await client.sendCommand(["PING"], behindAll).then(() => undefined, asIs);
      // Otherwise it was not sent: the queue is full (`commandsQueueMaxLength`), and has room once more is answered.
      isOver = error === undefined || this.isErrorReply(error) || !client.isReady;
      if (!isOver) await new Promise<void>((resolve) => systemRuntime.setTimer(resolve, fullQueueInterval));
    }
  }

  /** A client of node-redis 5 that is destroyed while it dials stays connected: it is destroyed once the dial has ended. */
  disconnect(): void {
    const { client } = this;
    const isDialing = !this.isCluster && this.status === "connecting" && !this.#hasDialed;
    this.#isEnded = true;
    this.#isEnding = isDialing && client.isOpen;
    if (client.isOpen && !this.#isEnding) destroy(client);
  }
}

/** A client of one server, which is asked whether it has answered everything. */
interface AskedClient {
  readonly isReady: boolean;
  sendCommand(words: readonly string[], options: object): Promise<unknown>;
}

/** The user's options may put a command before others (`asap`), or reject it. */
const behindAll = { asap: false, abortSignal: undefined, timeout: 0 };

/** The interval at which a client whose queue is full is asked again, ms. */
const fullQueueInterval = 10;

const asIs = (error: unknown): unknown => error;

function deliver(own: object, message: Message, done: Done): void {
  (own as Duplicate).deliver(message, done);
}

function nameOf({ socket = {}, url }: NodeRedisOptions): string {
  if (url?.startsWith("redis")) return hostIn(url);
  return socket.path ?? `${socket.host ?? "localhost"}:${socket.port ?? 6379}`;
}

function clusterNameOf({ rootNodes: [first = {}] = [] }: ClusterOptions): string {
  return `cluster at ${first.url === undefined ? nameOf(first) : hostIn(first.url)}`;
}

/** A URL may contain a password, which the error of `URL` would carry as `input`. */
function hostIn(url: string): string {
  if (!URL.canParse(url)) throw new InvalidArgumentError("the url of a root node of the Cluster is invalid");
  return new URL(url).host;
}
