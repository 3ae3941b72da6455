import type { Runtime, Timer } from "../time/runtime.ts";
import type { Dials } from "./dials.ts";
import type { SubscriberClient, SubscriberEvents } from "./own-client.ts";

type SubscriberRuntime = Pick<Runtime, "setTimer" | "monotonic">;

interface Subscription {
  readonly onMessage: (message: string) => void;
  readonly onChange: (isListening: boolean, error?: unknown) => void;
}

/**
 * The interval between pings, and between connections where the client gives up, ms. A subscriber without messages
 * cannot distinguish a quiet channel from a dead connection. Without an answer within the same time, the connection is
 * replaced.
 */
const pingInterval = 10_000;

/**
 * The connection for subscriptions, since a subscribed connection can do little else. Made on first use.
 * After each reconnect it subscribes again, and reports that only after the master has answered.
 *
 * It lives as long as the user's client. An application that makes a Redlock for each request never closes
 * it, so each subscription is kept by its owner and ends when the owner is garbage-collected.
 */
export class Subscriber {
  readonly #make: (events: SubscriberEvents) => SubscriberClient | undefined;
  readonly #isErrorReply: (error: unknown) => boolean;
  readonly #runtime: SubscriberRuntime;
  readonly #dials: () => Pick<Dials, "begun" | "connected">;
  readonly #subscriptions = new Map<string, WeakRef<Subscription>>();
  /** The channels for which the master was busy. They are asked for again with the next ping. */
  readonly #refused = new Set<string>();
  readonly #registry = new FinalizationRegistry<string>((channel) => this.#unsubscribe(channel));
  #current: SubscriberClient | undefined;
  /** The time when it became ready, by the monotonic clock. */
  #readyAt = 0;
  /** The dials of the user's client when it was dialed. */
  #dial = 0;
  /** For the next ping, the timeout of its answer, or another connection. */
  #timer: Timer | undefined;

  /** `make`: returns `undefined` if the user's client has ended, see {@link reopen}. */
  constructor(
    make: (events: SubscriberEvents) => SubscriberClient | undefined,
    isErrorReply: (error: unknown) => boolean,
    runtime: SubscriberRuntime,
    dials: () => Pick<Dials, "begun" | "connected">,
  ) {
    this.#make = make;
    this.#isErrorReply = isErrorReply;
    this.#runtime = runtime;
    this.#dials = dials;
  }

  subscribe(channel: string, subscription: Subscription): void {
    this.#subscriptions.set(channel, new WeakRef(subscription));
    this.#registry.register(subscription, channel);
    const current = this.#current;
    if (current?.client.status === "ready") void this.#subscribe(current, channel, subscription);
    else this.reopen();
  }

  /**
   * The command connection or the user's client is back, so this one is reopened if it was used. A connection that was
   * made before the other was lost, at `lostAt`, may lead to the previous server or nowhere: it is replaced.
   */
  reopen(lostAt: number = Number.NEGATIVE_INFINITY): void {
    const { client } = this.#current ?? {};
    const isOver = !client || client.status === "end";
    if (isOver && this.#subscriptions.size > 0) this.#open();
    else if (client?.status === "ready" && (this.#readyAt <= lostAt || this.#isBehind)) this.#current?.cut();
  }

  /** Whether the connection of the user's client was dialed after this one (PROTOCOL 2.18). */
  get #isBehind(): boolean {
    return this.#dial < this.#dials().connected;
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
    const current: SubscriberClient | undefined = this.#make({
      onDial: () => {
        if (current === this.#current) this.#dial = this.#dials().begun;
      },
      onReady: () => {
        if (current === this.#current && this.#isBehind) current?.cut();
        else this.#onReady(current!);
      },
      onClose: () => {
        if (current !== this.#current) return;
        this.#timer?.cancel();
        // The user's retry strategy may give up this connection alone: the command connection stays.
        this.#timer = this.#runtime.setTimer(() => this.reopen(), pingInterval);
        this.#timer.unref();
        this.#notifyAll(false);
      },
      onMessage: (channel, message) => this.#subscriptions.get(channel)?.deref()?.onMessage(message),
    });
    this.#current = current;
    if (!current) {
      this.#notifyAll(false);
      return;
    }
    current.connect().catch(() => {});
  }

  #onReady(current: SubscriberClient): void {
    this.#refused.clear();
    for (const [channel, kept] of this.#subscriptions) {
      const subscription = kept.deref();
      if (subscription) void this.#subscribe(current, channel, subscription);
    }
    if (current !== this.#current) return;
    this.#readyAt = this.#runtime.monotonic();
    this.#watch(current);
  }

  /** Any answer shows that the server is there. */
  #watch(current: SubscriberClient): void {
    this.#timer?.cancel();
    this.#timer = this.#runtime.setTimer(() => {
      let isAnswered = false;
      const answered = (): void => {
        isAnswered = true;
      };
      current.ping("still there?").then(answered, answered);
      this.#subscribeRefused(current);
      this.#timer = this.#runtime.setTimer(() => {
        if (isAnswered) this.#watch(current);
        else current.cut();
      }, pingInterval);
      this.#timer.unref();
    }, pingInterval);
    this.#timer.unref();
  }

  #subscribeRefused(current: SubscriberClient): void {
    const channels = [...this.#refused];
    this.#refused.clear();
    for (const channel of channels) {
      const subscription = this.#subscriptions.get(channel)?.deref();
      if (subscription) void this.#subscribe(current, channel, subscription);
    }
  }

  async #subscribe(own: SubscriberClient, channel: string, { onChange }: Subscription): Promise<void> {
    const isCurrent = (): boolean => own === this.#current;
    try {
      const isSubscribed = await answersPing(own);
      if (isSubscribed) await own.subscribe(channel);
      if (isCurrent() && own.client.status === "ready") onChange(isSubscribed);
    } catch (error) {
      if (!isCurrent()) return;
      const isReply = this.#isErrorReply(error);
      // A Redis that runs a long script refuses everything else for that time.
      if (isReply && /^BUSY\b/.test((error as Error).message)) this.#refused.add(channel);
      // Only an error reply of the master is a reason; the loss of the connection was reported.
      onChange(false, isReply ? error : undefined);
    }
  }

  #unsubscribe(channel: string): void {
    this.#subscriptions.delete(channel);
    const current = this.#current;
    if (current?.client.status === "ready") current.unsubscribe(channel).catch(() => {});
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
async function answersPing(client: SubscriberClient): Promise<boolean> {
  // Not the channel: tracing tools record it, and whoever knows an inbox can publish a grant to it.
  const word = "quorlock";
  try {
    const said = await client.ping(word);
    // In RESP2, on a connection with another subscription, the reply is an array.
    return said === word || (Array.isArray(said) && said[1] === word);
  } catch (error) {
    if (error instanceof Error && refusedPing.test(error.message)) return true;
    throw error;
  }
}
