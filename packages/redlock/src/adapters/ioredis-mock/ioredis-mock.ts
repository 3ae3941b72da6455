import type { Args, Connection } from "../../redis/connection.ts";
import { whyReserved } from "../../settings/resources.ts";
import { outside } from "../../time/async-context.ts";

/** The used part of a client of ioredis-mock. Its commands are methods, which run in this process. */
interface MockClient {
  readonly connected: boolean;
  readonly options: {
    readonly host?: string;
    readonly port?: number;
    readonly db?: number;
    readonly keyPrefix?: string;
  };
  readonly keyspaceEvents: object;
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  quit(): Promise<unknown>;
  disconnect(): void;
}

type Command = (this: MockClient, ...args: Args) => Promise<unknown>;

export function isIoredisMock(client: unknown): client is MockClient {
  const candidate = client as Partial<MockClient> | null | undefined;
  return typeof candidate?.connected === "boolean" && typeof candidate.keyspaceEvents === "object";
}

/**
 * The client itself: it has no socket, so nothing is sent late or twice, and no duplicate is needed. Without
 * subscriptions: a waiter of another Redlock is not notified, and polls.
 */
export class MockConnection implements Connection {
  readonly client: MockClient;
  readonly name: string;
  /** Clients of the same address share their data. */
  readonly serverIds: readonly string[];
  readonly session = 1;
  /** The client has one listener for all: it warns of a leak at the eleventh. */
  readonly #listeners = new Set<() => void>();
  #hasConnected = false;
  readonly notReadyReason = "the ioredis-mock client is disconnected";

  constructor(client: MockClient) {
    this.client = client;
    const { host, port } = client.options;
    this.name = `${host}:${port}`;
    this.serverIds = [`ioredis-mock ${this.name}`];
    client.on("ready", () => {
      for (const listener of this.#listeners) listener();
    });
  }

  get isReady(): boolean {
    this.#hasConnected ||= this.client.connected;
    return this.client.connected;
  }

  refuses(resources: readonly string[]): string | undefined {
    return whyReserved(resources, this.client.options.keyPrefix);
  }

  get database(): number {
    return this.client.options.db ?? 0;
  }

  /** A client with `lazyConnect`, once. */
  connectFirst(): Promise<void> | undefined {
    if (this.#hasConnected || this.isReady) return undefined;
    this.#hasConnected = true;
    return outside(() => this.client.connect()).then(
      () => {},
      () => {},
    );
  }

  async send(command: string, args: Args): Promise<unknown> {
    const run = (this.client as unknown as Readonly<Record<string, Command>>)[command.toLowerCase()];
    if (!run) throw new Error(`ERR ioredis-mock has no command ${command}`);
    return outside(() => run.apply(this.client, [...args]));
  }

  isErrorReply(error: unknown): error is Error {
    return error instanceof Error;
  }

  onReady(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    await this.client.quit();
  }

  disconnect(): void {
    outside(() => this.client.disconnect());
  }
}
