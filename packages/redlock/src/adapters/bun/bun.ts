import type { Args } from "../../redis/connection.ts";
import { outside } from "../../time/async-context.ts";
import { Dials } from "../dials.ts";
import {
  type OwnClient,
  type OwnEvents,
  runIdIn,
  type SubscriberClient,
  type SubscriberEvents,
  type UserClient,
  type UserEvents,
} from "../own-client.ts";
import {
  ReconnectingClient,
  type SingleConnection,
  type SingleConnectionEvents,
} from "../reconnecting-client.ts";

/** The used part of a `RedisClient` of Bun. A type and not an import: the core never loads Bun. */
export interface BunRedisClient {
  readonly connected: boolean;
  readonly bufferedAmount: number;
  onconnect: ((this: never) => void) | null;
  onclose: ((this: never, error: Error) => void) | null;
  connect(): Promise<unknown>;
  close(): void;
  duplicate(): Promise<unknown>;
  send(command: string, args: string[]): Promise<unknown>;
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export function isBunRedis(client: unknown): client is BunRedisClient {
  const tag: unknown = (client as { [Symbol.toStringTag]?: unknown } | null | undefined)?.[
    Symbol.toStringTag
  ];
  return tag === "RedisClient" && typeof (client as Partial<BunRedisClient>).bufferedAmount === "number";
}

let count = 0;

/** A `RedisClient` of Bun. It exposes neither its address nor whether it was closed. */
export class BunUser implements UserClient {
  readonly client: BunRedisClient;
  readonly name: string;
  readonly keyPrefix = "";
  readonly isCluster = false;
  /** The database of the URL. It is unknown here, but a duplicate has the same. */
  readonly database = undefined;
  readonly asksServer = true;
  readonly deliver: UserClient["deliver"] = (own, message, done) => (own as Duplicate).deliver(message, done);
  /** It shows no dial, only that it is connected. */
  readonly dials: Dials = new Dials();
  #isEnded = false;

  constructor(client: BunRedisClient) {
    this.client = client;
    count += 1;
    this.name = `Bun.RedisClient ${count}`;
  }

  get status(): string {
    if (this.#isEnded) return "end";
    return this.client.connected ? "ready" : "wait";
  }

  open(_: number | undefined, events: OwnEvents): OwnClient {
    return new Duplicate(this, events);
  }

  openSubscriber(_: number | undefined, events: SubscriberEvents): SubscriberClient {
    return new SubscriberDuplicate(this, events);
  }

  watch({ onReady }: UserEvents): void {
    onConnect(this.client, () => {
      // Its user has connected it again.
      this.#isEnded = false;
      this.dials.redial();
      this.dials.ready();
      onReady();
    });
  }

  reconnectsOnError(): boolean {
    return false;
  }

  async askServer(): Promise<string | undefined> {
    return runIdIn(await this.client.send("INFO", ["server"]));
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof Error && (error as { code?: unknown }).code === "ERR_REDIS_SERVER_ERROR";
  }

  async close(): Promise<void> {
    // `close` rejects what is pending.
    await this.client.send("PING", []).catch(() => {});
    this.disconnect();
  }

  disconnect(): void {
    this.#isEnded = true;
    outside(() => this.client.close());
  }
}

/**
 * Calls `listener` whenever the client has connected, before the function of the user. A client of Bun has room for
 * one function, a property: from now on that of the user is kept beside it.
 */
function onConnect(client: BunRedisClient, listener: () => void): void {
  let users = client.onconnect;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- Bun's client has none.
  client.onconnect = function (this: never, ...args) {
    listener();
    users?.apply(this, args);
  };
  Object.defineProperty(client, "onconnect", {
    configurable: true,
    enumerable: true,
    get: () => users,
    set(value: BunRedisClient["onconnect"]) {
      users = value;
    },
  });
}

/** The default delays of Bun, ms. */
const minDelay = 50;
const maxDelay = 2000;

/** Clients like the user's, one for each connection. */
class Duplicate extends ReconnectingClient<SingleClient> {
  readonly #user: BunUser;

  constructor(user: BunUser, events: Partial<OwnEvents>) {
    super(user, events);
    this.#user = user;
  }

  protected override open(events: SingleConnectionEvents): SingleClient {
    return new SingleClient(this.#user.client, events);
  }

  protected override delayAfter(retries: number): number {
    return Math.min(minDelay * 2 ** retries, maxDelay);
  }
}

/**
 * A duplicate, for one connection. It has the user's options, which cannot be changed: it may keep commands while it is
 * offline, and reconnects by itself. So it gets no command unless it is connected, and is closed at the first sign of
 * a lost connection: Bun then rejects what is pending, and sends none of it again.
 */
class SingleClient implements SingleConnection {
  client: BunRedisClient | undefined;
  readonly #user: BunRedisClient;
  readonly #events: SingleConnectionEvents;
  #isOver = false;

  constructor(user: BunRedisClient, events: SingleConnectionEvents) {
    this.#user = user;
    this.#events = events;
  }

  async connect(): Promise<void> {
    const client = (await this.#user.duplicate()) as BunRedisClient;
    this.client = client;
    if (this.#isOver) {
      client.close();
      return;
    }
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- Bun's client has none.
    client.onclose = (error) => this.#events.onLost(error);
    await outside(() => client.connect());
    // Called again when it has reconnected by itself.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- Bun's client has none.
    client.onconnect = () => this.#events.onLost(new Error("the connection was lost"));
    this.#events.onReady();
  }

  async send(command: string, args: Args): Promise<unknown> {
    const client = this.client!;
    if (!client.connected) this.#events.onLost(new Error("the connection was lost"));
    try {
      return await client.send(command, args.map(String));
    } catch (error) {
      if ((error as { code?: unknown }).code === "ERR_REDIS_CONNECTION_CLOSED") this.#events.onLost(error);
      throw error;
    }
  }

  destroy(): void {
    this.#isOver = true;
    this.client?.close();
  }
}

/** A duplicate for subscriptions. */
class SubscriberDuplicate extends Duplicate implements SubscriberClient {
  readonly #onMessage: SubscriberEvents["onMessage"];

  constructor(user: BunUser, events: SubscriberEvents) {
    super(user, events);
    this.#onMessage = events.onMessage;
  }

  ping(message: string): Promise<unknown> {
    return this.send("PING", [message]);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.current!.client!.subscribe(channel, (message) => this.#onMessage(channel, message));
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.current!.client!.unsubscribe(channel);
  }
}
