// An adapter for another client library, see packages/redlock/docs/adapters.md.

import type { Args, Connection } from "@quorlock/redlock/internal";

/** The part of a `Bun.RedisClient` that the adapter uses. */
interface BunClient {
  readonly connected: boolean;
  onclose: ((error: Error) => void) | null;
  connect(): Promise<unknown>;
  close(): void;
  send(command: string, args: string[]): Promise<unknown>;
}

declare const Bun: { readonly RedisClient: new (url: string, options: object) => BunClient };

/** The time between two attempts to connect, ms. */
const pause = 100;

/**
 * A master by Bun's own client: `new RedisNode(new BunConnection(url))`. One client is used for one connection, so what was sent on it
 * is rejected when it is lost, and never sent again. Without `subscribe`, waiters poll. It has passed the contract of
 * `@quorlock/testing` with Bun 1.4; no test here runs it.
 */
export class BunConnection implements Connection {
  readonly client = this;
  readonly name: string;
  readonly database: number;
  session = 0;
  notReadyReason = "it is being connected";
  readonly #url: string;
  readonly #listeners = new Set<() => void>();
  #current: BunClient | undefined;
  #first: Promise<void> | undefined;
  #isOver = false;

  constructor(url: string) {
    const { host, pathname } = new URL(url);
    this.#url = url;
    this.name = host;
    this.database = Number(pathname.slice(1));
  }

  get isReady(): boolean {
    return this.#current?.connected === true;
  }

  connectFirst(): Promise<void> | undefined {
    if (this.#first) return this.session === 0 && !this.#isOver ? this.#first : undefined;
    this.#first = this.#connect();
    return this.#first;
  }

  async #connect(): Promise<void> {
    if (this.#isOver) return;
    const client = new Bun.RedisClient(this.#url, { autoReconnect: false, enableOfflineQueue: false });
    try {
      await client.connect();
    } catch (error) {
      this.#connectLater(client, error);
      return;
    }
    if (this.#isOver) {
      client.close();
      return;
    }
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- Bun's client has none.
    client.onclose = (error) => this.#connectLater(client, error);
    this.#current = client;
    this.session += 1;
    for (const listener of this.#listeners) listener();
  }

  #connectLater(client: BunClient, error: unknown): void {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- Bun's client has none.
    client.onclose = null;
    client.close();
    this.#current = undefined;
    this.notReadyReason = String(error);
    if (!this.#isOver) setTimeout(() => void this.#connect(), pause);
  }

  async send(command: string, args: Args): Promise<unknown> {
    if (!this.#current?.connected) throw new Error(this.notReadyReason);
    return this.#current.send(command, args.map(String));
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof Error && "code" in error && error.code === "ERR_REDIS_SERVER_ERROR";
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    // `close` of Bun rejects what is pending.
    await this.#current?.send("PING", []).catch(() => {});
    this.disconnect();
  }

  disconnect(): void {
    this.#isOver = true;
    this.notReadyReason = "it is closed";
    this.#current?.close();
  }
}
