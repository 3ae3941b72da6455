import type { Runtime, Timer } from "../time/runtime.ts";
import { Dialer } from "./dialer.ts";
import type { Driver } from "./driver.ts";
import type { SubscriberLink } from "./link.ts";

type SubscriberDriver = Pick<Driver, "openSubscriber" | "isErrorReply"> &
  ConstructorParameters<typeof Dialer>[0];
type SubscriberRuntime = Pick<Runtime, "setTimer">;

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
  readonly #driver: SubscriberDriver;
  readonly #database: () => number | undefined;
  readonly #runtime: SubscriberRuntime;
  readonly #subscriptions = new Map<string, WeakRef<Subscription>>();
  /** The channels for which the master was busy. They are asked for again with the next ping. */
  readonly #refused = new Set<string>();
  readonly #registry = new FinalizationRegistry<string>((channel) => this.#unsubscribe(channel));
  #current: Dialer<SubscriberLink> | undefined;
  /** For the next ping, which judges the one before, or another connection. */
  #timer: Timer | undefined;

  constructor(driver: SubscriberDriver, database: () => number | undefined, runtime: SubscriberRuntime) {
    this.#driver = driver;
    this.#database = database;
    this.#runtime = runtime;
  }

  subscribe(channel: string, subscription: Subscription): void {
    this.#subscriptions.set(channel, new WeakRef(subscription));
    this.#registry.register(subscription, channel);
    const current = this.#current;
    if (current?.isReady) void this.#subscribe(current.link!, channel, subscription);
    else this.reopen();
  }

  /**
   * The command connection or the user's client is back, so this one is reopened if it was used. A connection that was
   * made before the other was lost, at `lostAt`, may lead to the previous server or nowhere: it is replaced.
   */
  reopen(lostAt: number = Number.NEGATIVE_INFINITY): void {
    const current = this.#current;
    const isOver = !current || current.state === "over";
    if (isOver && this.#subscriptions.size > 0) this.#open();
    else if (current?.isReady && (current.readyAt <= lostAt || current.isBehind)) current.cut();
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
    this.#current = undefined;
    if (this.#driver.status === "end") {
      this.#notifyAll(false);
      return;
    }
    const onMessage = (channel: string, message: string): void =>
      this.#subscriptions.get(channel)?.deref()?.onMessage(message);
    const open = (): SubscriberLink => this.#driver.openSubscriber(this.#database(), onMessage);
    const current: Dialer<SubscriberLink> = new Dialer(this.#driver, open, {
      onReady: () => {
        if (current.isBehind) current.cut();
        else this.#onReady(current);
      },
      onLost: () => {
        // The user's retry strategy may give up this connection alone: the command connection stays.
        this.#later(() => this.reopen());
        this.#notifyAll(false);
      },
    });
    this.#current = current;
    current.dial();
  }

  #onReady(current: Dialer<SubscriberLink>): void {
    this.#subscribeAll(current.link!, this.#subscriptions.keys());
    this.#watch(current);
  }

  /** Any answer shows that the server is there. */
  #watch(current: Dialer<SubscriberLink>): void {
    let isAnswered = true;
    const answered = (): void => {
      isAnswered = true;
    };
    const ping = (): void => {
      if (!isAnswered) {
        current.cut();
        return;
      }
      isAnswered = false;
      current.link!.ping("still there?").then(answered, answered);
      this.#subscribeAll(current.link!, this.#refused);
      this.#later(ping);
    };
    this.#later(ping);
  }

  #later(act: () => void): void {
    this.#timer?.cancel();
    this.#timer = this.#runtime.setTimer(act, pingInterval);
    this.#timer.unref();
  }

  #subscribeAll(link: SubscriberLink, which: Iterable<string>): void {
    const channels = [...which];
    this.#refused.clear();
    for (const channel of channels) {
      const subscription = this.#subscriptions.get(channel)?.deref();
      if (subscription) void this.#subscribe(link, channel, subscription);
    }
  }

  async #subscribe(link: SubscriberLink, channel: string, { onChange }: Subscription): Promise<void> {
    const isCurrent = (): boolean => link === this.#current?.link;
    try {
      const isSubscribed = await answersPing(link);
      if (isSubscribed) await link.subscribe(channel);
      if (isCurrent() && link.isReady) onChange(isSubscribed);
    } catch (error) {
      if (!isCurrent()) return;
      const isReply = this.#driver.isErrorReply(error);
      // A Redis that runs a long script refuses everything else for that time.
      if (isReply && /^BUSY\b/.test(error.message)) this.#refused.add(channel);
      // Only an error reply of the master is a reason; the loss of the connection was reported.
      onChange(false, isReply ? error : undefined);
    }
  }

  #unsubscribe(channel: string): void {
    this.#subscriptions.delete(channel);
    const current = this.#current;
    if (current?.isReady) current.link!.unsubscribe(channel).catch(() => {});
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
async function answersPing(link: SubscriberLink): Promise<boolean> {
  // Not the channel: tracing tools record it, and whoever knows an inbox can publish a grant to it.
  const word = "quorlock";
  try {
    const said = await link.ping(word);
    // In RESP2, on a connection with another subscription, the reply is an array.
    return said === word || (Array.isArray(said) && said[1] === word);
  } catch (error) {
    if (error instanceof Error && refusedPing.test(error.message)) return true;
    throw error;
  }
}
