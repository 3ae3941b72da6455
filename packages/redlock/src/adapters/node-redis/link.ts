import type { Done, Message } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { afterTurn, systemRuntime } from "../../time/system.ts";
import { boundedDelay, minDelay } from "../dialer.ts";
import type { Driver } from "../driver.ts";
import {
  ClientLink,
  checkMade,
  duplicateOf,
  type Link,
  type LinkEvents,
  NotSent,
  type OnMessage,
  promised,
  type SubscriberLink,
} from "../link.ts";
import { watch } from "../watched.ts";
import type { NodeRedisClient, NodeRedisOptions, ReconnectStrategy } from "./client.ts";
import { untraced, wordsOf } from "./words.ts";

/** The user's client, with its prefix. */
export interface NodeRedis extends Pick<Driver, "keyPrefix" | "isErrorReply"> {
  readonly client: NodeRedisClient;
}

/** The used part of a client that this adapter makes. */
interface OneClient extends Pick<NodeRedisClient, "connect" | "destroy" | "on"> {
  readonly isReady: boolean;
  sendCommand(words: readonly (string | Uint8Array)[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * The options for a connection that sends immediately or not at all (PROTOCOL 2.2), in order, and returns
 * replies as they are. node-redis documents each of them.
 */
const sendNowOrNever = {
  // Without it, commands wait for a connection, and are sent late.
  disableOfflineQueue: true,
  // The user's may reorder commands (`asap`), drop some of them (`abortSignal`), or change replies
  // (`typeMapping`). A time-out ends only commands that were not sent yet, and costs a timer for each.
  commandOptions: { timeout: 0 },
  // A server that announces its maintenance gets unsent commands later, on another connection.
  maintNotifications: "disabled",
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  clientSideCache: undefined,
  emitInvalidate: undefined,
  readonly: false,
};

/** The default delays of node-redis, ms. */
const maxDelay = 2000;
const maxJitter = 200;

/** A client with the user's options as they are now, for one connection: it is destroyed at its first error. */
export class NodeRedisLink extends ClientLink implements Link {
  protected readonly client: OneClient;
  readonly #user: NodeRedis;
  readonly #isPatched: ReturnType<typeof watch> = watch();
  #because: unknown = new NotSent("the connection is closed");
  #isConnecting = false;

  constructor(user: NodeRedis, database: number | undefined) {
    super();
    this.#user = user;
    const { RESP, disableClientInfo, socket } = optionsOf(user.client);
    const reconnectStrategy = (_: number, cause: unknown): number => {
      this.#fail(cause);
      return 0;
    };
    this.client = duplicateOf(user.client, {
      ...sendNowOrNever,
      database,
      // A server that accepts connections but never answers must not count as ready.
      disableClientInfo: RESP === 3 && disableClientInfo,
      // Idle connections are kept. (The address of the url wins: others may have written theirs into a socket object that
      // they share.)
      socket: { ...socket, socketTimeout: undefined, reconnectStrategy },
    }) as OneClient;
    const made = optionsOf(this.client as unknown as NodeRedisClient);
    checkMade(this.client, { ...made, ...made.socket }, { ...sendNowOrNever, database, reconnectStrategy });
    this.client.on("error", (error: unknown) => this.#fail(error));
  }

  get isReady(): boolean {
    return this.client.isReady && !this.isOver;
  }

  protected override async connect({ onAccepted, onReady }: LinkEvents): Promise<void> {
    this.#isConnecting = true;
    this.client.on("connect", () => {
      this.#isConnecting = false;
      if (this.isOver) this.#destroy();
      else onAccepted();
    });
    this.client.on("ready", onReady);
    await this.client.connect().catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    this.#isConnecting = false;
    if (this.isOver) this.#destroy();
    this.lose(error);
  }

  protected override lose(error: unknown): void {
    if (!this.isOver) this.#because = error;
    super.lose(error);
  }

  post(message: Message, done: Done): void {
    const { client } = this;
    const words = untraced(wordsOf(message, this.#user.keyPrefix), this.#isPatched(client));
    client.sendCommand(words).then(done, (error: unknown) => done(undefined, this.#reasonOf(error)));
  }

  /** The error of a command. Those of a lost connection get the reason of the loss. */
  #reasonOf(error: unknown): unknown {
    return this.isOver && !this.#user.isErrorReply(error) ? this.#because : error;
  }

  async drop(because?: unknown): Promise<void> {
    if (!this.isOver && because !== undefined) this.#because = because;
    this.isOver = true;
    this.#destroy();
  }

  /** Libraries write the commands of a turn at its end, or one turn later. */
  end(): void {
    this.isOver = true;
    afterTurn(() => afterTurn(() => outside(() => this.#destroy())));
  }

  /**
   * Rejects pending commands. A client of node-redis 5 or 6 that is destroyed while it connects stays connected: it is
   * destroyed again once connected.
   */
  #destroy(): void {
    if (!this.#isConnecting) destroy(this.client);
  }
}

/** The delay of the user's client, but no shorter than {@link minDelay}; `undefined` if it would give up. */
export function retryDelay(strategy: ReconnectStrategy, retries: number, cause: Error): number | undefined {
  let delay: unknown = strategy;
  try {
    if (typeof strategy === "function") delay = outside(() => strategy(retries, cause));
  } catch {
    // As in node-redis, the default takes the place of a function that throws.
    delay = undefined;
  }
  if (delay === undefined) {
    const jitter = (systemRuntime.randomBytes(1)[0]! / 255) * maxJitter;
    return Math.min(minDelay * 2 ** retries, maxDelay) + jitter;
  }
  return typeof delay === "number" && delay >= 0 ? boundedDelay(delay) : undefined;
}

/** One for subscriptions. */
export class SubscriberClientLink extends NodeRedisLink implements SubscriberLink {
  readonly #onMessage: OnMessage;

  constructor(user: NodeRedis, database: number | undefined, onMessage: OnMessage) {
    super(user, database);
    this.#onMessage = onMessage;
  }

  ping(message: string): Promise<unknown> {
    return promised((done) => this.post({ command: "PING", args: [message] }, done));
  }

  subscribe(channel: string): Promise<unknown> {
    return this.client.subscribe(channel, (message) => this.#onMessage(channel, message));
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.client.unsubscribe(channel);
  }
}

export function optionsOf(client: NodeRedisClient): NodeRedisOptions {
  return (client as { options?: NodeRedisOptions }).options ?? {};
}

/**
 * Whether the master has sent this error. Errors of the system have a `code`, and node-redis writes sentences. (A bundler
 * renames classes, and there may be several copies of each.)
 */
export function isErrorReply(error: unknown): error is Error {
  return error instanceof Error && !("code" in error) && !/^[A-Z][a-z]/.test(error.message);
}

/** Pending commands are rejected. Throws in node-redis 5 if the client was closed meanwhile. */
export function destroy(client: Pick<NodeRedisClient, "destroy">): void {
  try {
    client.destroy();
  } catch {
    // It is closed.
  }
}
