import { type Args, type Connection, type LockNode, RedisNode } from "@quorlock/redlock/internal";

/** The used part of a client of ioredis-mock. Its commands are methods, which run in this process. */
export interface IoredisMock {
  readonly options: {
    readonly host?: string | undefined;
    readonly port?: number | undefined;
    readonly db?: number | undefined;
  };
  on(event: string, listener: () => void): unknown;
  connect(): Promise<unknown>;
  quit(): Promise<unknown>;
  disconnect(): void;
}

type Command = (this: IoredisMock, ...args: Args) => Promise<unknown>;

/**
 * A master by a client of ioredis-mock, for `new Redlock(clients.map(mockMaster))`. Give each client a port of its own: those of one
 * address share their data, and count as one server.
 */
export function mockMaster(client: IoredisMock): LockNode {
  // It replies nothing to the script for batches.
  return new RedisNode(new MockConnection(client), { groupCommit: false });
}

/**
 * The client itself: it has no socket, so nothing is sent late or twice. Without subscriptions: a waiter of another
 * Redlock is not notified, and polls.
 */
class MockConnection implements Connection {
  readonly client: IoredisMock;
  readonly name: string;
  readonly serverIds: readonly string[];
  readonly session = 1;
  readonly notReadyReason = "the ioredis-mock client is disconnected";
  /** The client has one listener for all: it warns of a leak at the eleventh. */
  readonly #listeners = new Set<() => void>();
  #hasConnected = false;

  constructor(client: IoredisMock) {
    this.client = client;
    const { host, port } = client.options;
    this.name = `${host}:${port}`;
    this.serverIds = [`ioredis-mock ${this.name}`];
    client.on("ready", () => {
      for (const listener of this.#listeners) listener();
    });
  }

  get isReady(): boolean {
    // Its types do not know this.
    const { connected } = this.client as { readonly connected?: boolean };
    this.#hasConnected ||= connected === true;
    return connected === true;
  }

  get database(): number {
    return this.client.options.db ?? 0;
  }

  /** A client with `lazyConnect`, once. */
  connectFirst(): Promise<void> | undefined {
    if (this.#hasConnected || this.isReady) return undefined;
    this.#hasConnected = true;
    return this.client.connect().then(
      () => {},
      () => {},
    );
  }

  async send(command: string, args: Args): Promise<unknown> {
    const run = (this.client as unknown as Readonly<Record<string, Command>>)[command.toLowerCase()];
    if (!run) throw new Error(`ERR ioredis-mock has no command ${command}`);
    return run.apply(this.client, [...args]);
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
    this.client.disconnect();
  }
}
