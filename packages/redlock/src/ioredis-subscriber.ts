import { outside } from "./async-context.ts";

/** A client that listens, made for that alone. */
export interface SubscribingClient {
  readonly status: string;
  connect(): Promise<unknown>;
  disconnect(): void;
  ping(message: string): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  on(event: string, listener: (...args: string[]) => void): unknown;
}

interface Subscription {
  readonly hear: (message: string) => void;
  readonly changed: (isListening: boolean, error?: unknown) => void;
}

/**
 * The connection on which one hears what is published, since one that listens can do little else. Made when first
 * needed. After each reconnect it subscribes anew, and says so only when the master has answered that.
 *
 * It lives as long as the user's client, and whoever makes a Redlock for each request never says that it was the last:
 * so subscriptions are kept by those who made them, and end when they are gone.
 */
export class IoredisSubscriber {
  readonly #makeClient: () => SubscribingClient | undefined;
  readonly #subscriptions = new Map<string, WeakRef<Subscription>>();
  readonly #gone = new FinalizationRegistry<string>((channel) => this.#unsubscribe(channel));
  #client: SubscribingClient | undefined;

  /** `makeClient`: none where the user's client has ended; see {@link reopen}. */
  constructor(makeClient: () => SubscribingClient | undefined) {
    this.#makeClient = makeClient;
  }

  subscribe(channel: string, subscription: Subscription): void {
    this.#subscriptions.set(channel, new WeakRef(subscription));
    this.#gone.register(subscription, channel);
    if (this.#client?.status === "ready") void this.#ask(this.#client, channel, subscription);
    else this.reopen();
  }

  /** The user's client is back: so is this one, where it was used. */
  reopen(): void {
    const isOver = !this.#client || this.#client.status === "end";
    if (this.#subscriptions.size > 0 && isOver) this.#open();
  }

  /** For as long as it is not opened again. */
  end(): void {
    const client = this.#client;
    this.#client = undefined;
    if (client && client.status !== "end") outside(() => client.disconnect());
    this.#tell(false);
  }

  #open(): void {
    const client = this.#makeClient();
    this.#client = client;
    if (!client) {
      this.#tell(false);
      return;
    }
    client.on("ready", () => {
      for (const [channel, kept] of this.#subscriptions) {
        const subscription = kept.deref();
        if (subscription) void this.#ask(client, channel, subscription);
      }
    });
    client.on("close", () => {
      if (client === this.#client) this.#tell(false);
    });
    client.on("message", (channel, message) => this.#subscriptions.get(channel)?.deref()?.hear(message));
    // Without a listener ioredis prints it. The first connection, which does the work, tells what is wrong.
    client.on("error", () => {});
    outside(() => client.connect()).catch(() => {});
  }

  async #ask(client: SubscribingClient, channel: string, { changed }: Subscription): Promise<void> {
    try {
      const isHeard = await isOfSense(client, channel);
      if (isHeard) await client.subscribe(channel);
      if (client === this.#client && client.status === "ready") changed(isHeard);
    } catch (error) {
      if (client !== this.#client) return;
      // Only the master's own word is a reason; that the connection was lost has been told.
      const isReply = error instanceof Error && error.name === "ReplyError";
      changed(false, isReply ? error : undefined);
    }
  }

  #unsubscribe(channel: string): void {
    this.#subscriptions.delete(channel);
    const client = this.#client;
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
