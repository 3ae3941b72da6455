import type { Runtime, Timer } from "../../time/runtime.ts";
import type { Duplicate, OwnClient } from "./duplicate.ts";

/** A client for a subscription only. */
export interface SubscribingClient extends OwnClient {
  ping(message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

type SubscriberRuntime = Pick<Runtime, "setTimer" | "monotonic">;
type Subscriber = Pick<Duplicate<SubscribingClient>, "client" | "connect" | "cut" | "end">;

interface Subscription {
  readonly onMessage: (message: string) => void;
  readonly onChange: (isListening: boolean, error?: unknown) => void;
}

/**
 * The interval between pings, ms. A subscriber without messages cannot distinguish a quiet channel from a
 * dead connection. Without an answer within the same time, the connection is replaced.
 */
const pingInterval = 10_000;

/**
 * The connection for subscriptions, since a subscribed connection can do little else. Made on first use.
 * After each reconnect it subscribes again, and reports that only after the master has answered.
 *
 * It lives as long as the user's client. An application that makes a Redlock for each request never closes
 * it, so each subscription is kept by its owner and ends when the owner is garbage-collected.
 */
export class IoredisSubscriber {
  readonly #make: () => Subscriber | undefined;
  readonly #runtime: SubscriberRuntime;
  readonly #subscriptions = new Map<string, WeakRef<Subscription>>();
  readonly #registry = new FinalizationRegistry<string>((channel) => this.#unsubscribe(channel));
  #current: Subscriber | undefined;
  /** The time when it became ready, by the monotonic clock. */
  #readyAt = 0;
  /** For the next ping, or the timeout of its answer. */
  #timer: Timer | undefined;

  /** `make`: returns `undefined` if the user's client has ended, see {@link reopen}. */
  constructor(make: () => Subscriber | undefined, runtime: SubscriberRuntime) {
    this.#make = make;
    this.#runtime = runtime;
  }

  subscribe(channel: string, subscription: Subscription): void {
    this.#subscriptions.set(channel, new WeakRef(subscription));
    this.#registry.register(subscription, channel);
    const { client } = this.#current ?? {};
    if (client?.status === "ready") void this.#subscribe(client, channel, subscription);
    else this.reopen();
  }

  /**
   * The command connection is back, so this one is reopened if it was used. A connection that was made before
   * the other was lost, at `lostAt`, may lead to the previous server or nowhere: it is replaced.
   */
  reopen(lostAt: number = Number.NEGATIVE_INFINITY): void {
    const { client } = this.#current ?? {};
    const isOver = !client || client.status === "end";
    if (isOver && this.#subscriptions.size > 0) this.#open();
    else if (client?.status === "ready" && this.#readyAt <= lostAt) this.#current?.cut();
  }

  /** Ends the connection until it is reopened. */
  end(): void {
    const current = this.#current;
    this.#current = undefined;
    this.#timer?.cancel();
    current?.end();
    this.#notifyAll(false);
  }

  #open(): void {
    const current = this.#make();
    this.#current = current;
    if (!current) {
      this.#notifyAll(false);
      return;
    }
    const { client } = current;
    client.on("ready", () => {
      for (const [channel, kept] of this.#subscriptions) {
        const subscription = kept.deref();
        if (subscription) void this.#subscribe(client, channel, subscription);
      }
      if (current !== this.#current) return;
      this.#readyAt = this.#runtime.monotonic();
      this.#watch(current);
    });
    client.on("close", () => {
      if (current !== this.#current) return;
      this.#timer?.cancel();
      this.#notifyAll(false);
    });
    client.on("message", (channel: string, message: string) =>
      this.#subscriptions.get(channel)?.deref()?.onMessage(message),
    );
    // Without a listener ioredis prints the error. The command connection reports the reason.
    client.on("error", () => {});
    current.connect().catch(() => {});
  }

  /** Any answer shows that the server is there. */
  #watch(current: Subscriber): void {
    this.#timer?.cancel();
    this.#timer = this.#runtime.setTimer(() => {
      let isAnswered = false;
      const answered = (): void => {
        isAnswered = true;
      };
      current.client.ping("still there?").then(answered, answered);
      this.#timer = this.#runtime.setTimer(() => {
        if (isAnswered) this.#watch(current);
        else current.cut();
      }, pingInterval);
      this.#timer.unref();
    }, pingInterval);
    this.#timer.unref();
  }

  async #subscribe(client: SubscribingClient, channel: string, { onChange }: Subscription): Promise<void> {
    const isCurrent = (): boolean => client === this.#current?.client;
    try {
      const isHeard = await answersPing(client, channel);
      if (isHeard) await client.subscribe(channel);
      if (isCurrent() && client.status === "ready") onChange(isHeard);
    } catch (error) {
      if (!isCurrent()) return;
      // Only an error reply of the master is a reason; the loss of the connection was reported.
      const isReply = error instanceof Error && error.name === "ReplyError";
      onChange(false, isReply ? error : undefined);
    }
  }

  #unsubscribe(channel: string): void {
    this.#subscriptions.delete(channel);
    const { client } = this.#current ?? {};
    if (client?.status === "ready") client.unsubscribe(channel).catch(() => {});
  }

  #notifyAll(isListening: boolean): void {
    for (const kept of this.#subscriptions.values()) kept.deref()?.onChange(isListening);
  }
}

/** The errors with which a Redis refuses a PING at the moment or for this user. */
const refusedPing = /^(NOPERM|MISCONF|LOADING|ERR unknown command)\b/;

/**
 * Whether the master echoes a PING, or refuses it as a Redis would. In ioredis 5 and 6, an invalid reply to
 * SUBSCRIBE throws an error that cannot be caught and ends the process, so a server with invalid replies is
 * never subscribed to.
 */
async function answersPing(client: SubscribingClient, word: string): Promise<boolean> {
  try {
    const said = await client.ping(word);
    // In RESP2, on a connection with another subscription, the reply is an array.
    return said === word || (Array.isArray(said) && said[1] === word);
  } catch (error) {
    if (error instanceof Error && refusedPing.test(error.message)) return true;
    throw error;
  }
}
