import { InvalidArgumentError } from "../../errors.ts";
import { outside } from "../../time/async-context.ts";
import { afterTurn, systemRuntime } from "../../time/system.ts";
import { Dials } from "../dials.ts";
import { type Driver, type DriverEvents, defaultConnectTimeout } from "../driver.ts";
import type { Link, OnMessage, SubscriberLink } from "../link.ts";
import { hasMethods, memberOf } from "../members.ts";
import type { NodeRedisClient, NodeRedisOptions } from "./client.ts";
import { destroy, isErrorReply, NodeRedisLink, optionsOf, retryDelay, SubscriberClientLink } from "./link.ts";
import { wasConnected } from "./private.ts";

export type { NodeRedisClient } from "./client.ts";

/** The functions that only some of the clients of node-redis have. */
const kinds = [
  ["getSentinelNode", "sentinel"],
  ["execute", "pool"],
  ["nodeClient", "cluster"],
  ["duplicate", "client"],
] as const;

/** The kind of a client of node-redis 5 or 6; `undefined` for anything else. */
export function kindOfNodeRedis(client: unknown): (typeof kinds)[number][1] | undefined {
  // The clients of node-redis 4 have no `destroy`.
  if (!hasMethods(client, "sendCommand", "destroy") || typeof memberOf(client, "isOpen") !== "boolean")
    return;
  return kinds.find(([name]) => hasMethods(client, name))?.[1];
}

export function isNodeRedis(client: unknown): client is NodeRedisClient {
  return kindOfNodeRedis(client) === "client";
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

/** Tells of errors without being a listener for them: a client that has none throws. */
const errorMonitor = globalThis.process?.getBuiltinModule?.("node:events").errorMonitor ?? "none";

/** A client of `createClient` of node-redis 5 or 6. */
export class NodeRedisDriver implements Driver {
  readonly client: NodeRedisClient;
  readonly name: string;
  readonly keyPrefix: string;
  readonly isCluster = false;
  /**
   * The database of the options. node-redis does not report a later `select`, and a lock must not change its database
   * unnoticed.
   */
  readonly database: number;
  readonly asksServer = true;
  readonly isErrorReply: Driver["isErrorReply"] = isErrorReply;
  /**
   * Its state while it is not open: one that was closed looks like one that was never opened, or that was closed by its own
   * `socketTimeout`, which is no reason to end locks ("unused").
   */
  #use: "unused" | "used" | "ended";
  /** Whether its current dial has ended, as far as events tell. */
  #hasDialed = false;
  /** Whether it is to be destroyed when its current dial has ended. */
  #isEnding = false;
  readonly #dials = new Dials();

  constructor(client: NodeRedisClient) {
    this.client = client;
    const { keyPrefix = "", database = 0, ...address } = optionsOf(client);
    this.name = nameOf(address);
    this.keyPrefix = typeof keyPrefix === "string" ? keyPrefix : textIn(keyPrefix);
    this.database = database;
    this.#use = client.isOpen ? "used" : "unused";
    if (!client.isOpen && wasConnected(client)) this.#use = "ended";
  }

  get status(): string {
    // No event tells that its connection was lost while it was being closed.
    if (this.#use === "ended" || (this.#use === "used" && !this.client.isOpen)) return "end";
    if (!this.client.isOpen) return "wait";
    return memberOf(this.client, "isReady") === false ? "connecting" : "ready";
  }

  open(database: number | undefined): Link {
    return new NodeRedisLink(this, database);
  }

  openSubscriber(database: number | undefined, onMessage: OnMessage): SubscriberLink {
    return new SubscriberClientLink(this, database, onMessage);
  }

  get #socketOptions(): NodeRedisOptions["socket"] {
    return optionsOf(this.client).socket;
  }

  get greetingTime(): number {
    return this.#socketOptions?.connectTimeout || defaultConnectTimeout;
  }

  get dialTime(): number {
    return this.greetingTime;
  }

  delayAfter(failures: number, cause: Error): number | undefined {
    return failures === 0 ? 0 : retryDelay(this.#socketOptions?.reconnectStrategy, failures - 1, cause);
  }

  watch({ onReady, onEnd }: DriverEvents): void {
    const { client } = this;
    // (Its greeting has begun a turn later: only then does it reject the `connect` of the user.)
    const onDialed = (): void => {
      this.#hasDialed = true;
      if (this.#isEnding) afterTurn(() => this.#endDialed());
    };
    client.on("connect", () => {
      onDialed();
      // One of 6 that was destroyed while it connected can be destroyed again. (One of 5 cannot.)
      if (!client.isOpen) afterTurn(() => outside(() => destroy(client)));
      else if (!this.#isEnding) this.#use = "used";
    });
    client.on("ready", () => {
      onDialed();
      // Its end is about to take effect.
      if (this.status === "end") return;
      this.#dials.ready();
      onReady();
    });
    client.on("reconnecting", () => {
      this.#hasDialed = false;
      this.#dials.redial();
    });
    const onOver = (): void => {
      this.#use = "ended";
      this.#isEnding = false;
      this.#hasDialed = false;
      // Questions of this turn that were asked before are sent first.
      void Promise.resolve().then(onEnd);
    };
    client.on("end", onOver);
    // No "end" is emitted if its reconnect strategy gives up.
    client.on(errorMonitor as unknown as string, (error: unknown) => {
      this.#hasDialed = client.isOpen;
      this.#endDialed();
      if (client.isOpen) return;
      if (error instanceof Error && error.message.startsWith("Socket timeout")) this.#use = "unused";
      else onOver();
    });
  }

  #endDialed(): void {
    if (!this.#isEnding) return;
    this.#isEnding = false;
    outside(() => destroy(this.client));
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

  /**
   * `close` of node-redis waits for a hung server, and `destroy` after it throws in version 5. So pending commands
   * are awaited by one behind them: until the server has answered everything, or the connection is lost.
   */
  async close(): Promise<void> {
    const client = this.client as unknown as AskedClient;
    let isOver = false;
    while (!isOver) {
      const error: unknown = await client.sendCommand(["PING"], behindAll).then(() => undefined, asIs);
      // Otherwise it was not sent: the queue is full (`commandsQueueMaxLength`), and has room once more is answered.
      isOver = error === undefined || this.isErrorReply(error) || !client.isReady;
      if (!isOver) await new Promise<void>((resolve) => systemRuntime.setTimer(resolve, fullQueueInterval));
    }
    this.disconnect();
  }

  /** A client of node-redis 5 that is destroyed while it dials stays connected: it is destroyed once the dial has ended. */
  disconnect(): void {
    const { client } = this;
    const isDialing = this.status === "connecting" && !this.#hasDialed;
    this.#use = "ended";
    this.#isEnding = isDialing && client.isOpen;
    if (client.isOpen && !this.#isEnding) destroy(client);
  }
}

/** A client that is asked whether everything is answered. */
interface AskedClient {
  readonly isReady: boolean;
  sendCommand(words: readonly string[], options: object): Promise<unknown>;
}

/** The user's options may put a command before others (`asap`), or reject it. */
const behindAll = { asap: false, abortSignal: undefined, timeout: 0 };

/** The interval at which a client whose queue is full is asked again, ms. */
const fullQueueInterval = 10;

const asIs = (error: unknown): unknown => error;

function nameOf({ socket = {}, url }: NodeRedisOptions): string {
  if (url?.startsWith("redis")) return hostIn(url);
  return socket.path ?? `${socket.host ?? "localhost"}:${socket.port ?? 6379}`;
}

/** Keys are sent as text: other bytes would be changed, and two prefixes be one. */
function textIn(keyPrefix: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(keyPrefix);
  } catch {
    throw new InvalidArgumentError("the keyPrefix of a client must be UTF-8");
  }
}

/** A URL may contain a password, which the error of `URL` would carry as `input`. */
function hostIn(url: string): string {
  if (!URL.canParse(url)) throw new InvalidArgumentError("the url of a root node of the Cluster is invalid");
  return new URL(url).host;
}
