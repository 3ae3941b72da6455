import type { Runtime, Timer } from "../../time/runtime.ts";
import type { Duplicate, OwnClient } from "./duplicate.ts";

/** A client that listens, made for that alone. */
export interface SubscribingClient extends OwnClient {
  ping(message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

type SubscriberRuntime = Pick<Runtime, "setTimer" | "monotonic">;
type Subscriber = Pick<Duplicate<SubscribingClient>, "client" | "connect" | "cut" | "end">;

interface Subscription {
  readonly hear: (message: string) => void;
  readonly changed: (isListening: boolean, error?: unknown) => void;
}

/**
 * A subscriber hears nothing for as long as nobody publishes, and cannot tell that from a connection that leads nowhere.
 * So it asks after so long, ms. Where the answer does not come within the same time, the connection is replaced.
 */
const askedEvery = 10_000;

/**
 * The connection on which one hears what is published, since one that listens can do little else. Made when first
 * needed. After each reconnect it subscribes anew, and says so only when the master has answered that.
 *
 * It lives as long as the user's client, and whoever makes a Redlock for each request never says that it was the last:
 * so subscriptions are kept by those who made them, and end when they are gone.
 */
export class IoredisSubscriber {
  readonly #make: () => Subscriber | undefined;
  readonly #runtime: SubscriberRuntime;
  readonly #subscriptions = new Map<string, WeakRef<Subscription>>();
  readonly #gone = new FinalizationRegistry<string>((channel) => this.#unsubscribe(channel));
  #current: Subscriber | undefined;
  /** When it was ready, by the monotonic clock. */
  #readyAt = 0;
  /** To ask whether the master is still there. */
  #timer: Timer | undefined;

  /** `make`: none where the user's client has ended; see {@link reopen}. */
  constructor(make: () => Subscriber | undefined, runtime: SubscriberRuntime) {
    this.#make = make;
    this.#runtime = runtime;
  }

  subscribe(channel: string, subscription: Subscription): void {
    this.#subscriptions.set(channel, new WeakRef(subscription));
    this.#gone.register(subscription, channel);
    const { client } = this.#current ?? {};
    if (client?.status === "ready") void this.#ask(client, channel, subscription);
    else this.reopen();
  }

  /**
   * The connection that carries commands is back: so is this one, where it was used. One that stands since before that
   * one was lost, at `lostAt`, may lead to the server before, or nowhere: it is replaced.
   */
  reopen(lostAt: number = Number.NEGATIVE_INFINITY): void {
    const { client } = this.#current ?? {};
    const isOver = !client || client.status === "end";
    if (isOver && this.#subscriptions.size > 0) this.#open();
    else if (client?.status === "ready" && this.#readyAt <= lostAt) this.#current?.cut();
  }

  /** For as long as it is not opened again. */
  end(): void {
    const current = this.#current;
    this.#current = undefined;
    this.#timer?.cancel();
    current?.end();
    this.#tell(false);
  }

  #open(): void {
    const current = this.#make();
    this.#current = current;
    if (!current) {
      this.#tell(false);
      return;
    }
    const { client } = current;
    client.on("ready", () => {
      for (const [channel, kept] of this.#subscriptions) {
        const subscription = kept.deref();
        if (subscription) void this.#ask(client, channel, subscription);
      }
      if (current !== this.#current) return;
      this.#readyAt = this.#runtime.monotonic();
      this.#watch(current);
    });
    client.on("close", () => {
      if (current !== this.#current) return;
      this.#timer?.cancel();
      this.#tell(false);
    });
    client.on("message", (channel: string, message: string) =>
      this.#subscriptions.get(channel)?.deref()?.hear(message),
    );
    // Without a listener ioredis prints it. The first connection, which does the work, tells what is wrong.
    client.on("error", () => {});
    current.connect().catch(() => {});
  }

  /** Whatever it answers, it is there. */
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
      }, askedEvery);
      this.#timer.unref();
    }, askedEvery);
    this.#timer.unref();
  }

  async #ask(client: SubscribingClient, channel: string, { changed }: Subscription): Promise<void> {
    const isCurrent = (): boolean => client === this.#current?.client;
    try {
      const isHeard = await isOfSense(client, channel);
      if (isHeard) await client.subscribe(channel);
      if (isCurrent() && client.status === "ready") changed(isHeard);
    } catch (error) {
      if (!isCurrent()) return;
      // Only the master's own word is a reason; that the connection was lost has been told.
      const isReply = error instanceof Error && error.name === "ReplyError";
      changed(false, isReply ? error : undefined);
    }
  }

  #unsubscribe(channel: string): void {
    this.#subscriptions.delete(channel);
    const { client } = this.#current ?? {};
    if (client?.status === "ready") client.unsubscribe(channel).catch(() => {});
  }

  #tell(isListening: boolean): void {
    for (const kept of this.#subscriptions.values()) kept.deref()?.changed(isListening);
  }
}

/** What a Redis answers to a PING that it does not take just now, or from this user. */
const refusedPing = /^(NOPERM|MISCONF|LOADING|ERR unknown command)\b/;

/**
 * Whether the master says back what it is told, or why not as a Redis would. In ioredis 5 and 6 an answer to SUBSCRIBE
 * that is none throws where nobody can catch it, and so would end the process: who answers anything at all is not asked.
 */
async function isOfSense(client: SubscribingClient, word: string): Promise<boolean> {
  try {
    const said = await client.ping(word);
    // (By RESP2, where it is subscribed to something else already, it is a list.)
    return said === word || (Array.isArray(said) && said[1] === word);
  } catch (error) {
    if (error instanceof Error && refusedPing.test(error.message)) return true;
    throw error;
  }
}
