import { once } from "node:events";
import { Redis } from "ioredis";
import { within } from "../programs/child.ts";

/** Gives back what was acquired. */
export type Release = () => Promise<unknown>;

/** One way to lock, with connections of its own to every master. */
export interface Contender {
  readonly name: string;
  /** Locks a resource the way a user of this library does; rejects when that fails. */
  acquire(resource: string): Promise<Release>;
  /** Runs `routine` under a lock that the library keeps extended; missing where there is no such thing. */
  readonly using?: (resource: string, routine: () => Promise<void>) => Promise<void>;
  /** Resolves when every master answers it, after failures too; rejects when one does not within 10 s. */
  ready(): Promise<void>;
  /** Ends its connections at once, whatever the masters do. */
  quit(): Promise<void>;
}

export interface ContenderTerms {
  readonly urls: readonly string[];
  /** How long a lock lives, ms. */
  readonly ttl: number;
  /**
   * How long `acquire` goes on where somebody else holds the lock, ms, with the pause between two attempts that is
   * best for this library. Default: everything as shipped.
   */
  readonly waitTimeout?: number;
}

export type OpenContender = (name: string, terms: ContenderTerms) => Promise<Contender>;

/** Where a contender wants its connections to differ from ioredis's defaults. */
export interface ClientOptions {
  readonly enableOfflineQueue?: boolean;
  readonly autoResendUnfulfilledCommands?: boolean;
  readonly maxRetriesPerRequest?: number;
  readonly enableAutoPipelining?: boolean;
}

export async function acquireAndRelease(contender: Contender, resource: string): Promise<void> {
  const release = await contender.acquire(resource);
  await release();
}

/** One client for each master, connected. */
export async function openClients(urls: readonly string[], options: ClientOptions = {}): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis(url, { ...options, lazyConnect: true }));
  for (const client of clients) {
    // Masters are stopped on purpose; without a listener ioredis prints each refused connection.
    client.on("error", () => {});
  }
  await Promise.all(clients.map((client) => client.connect()));
  return clients;
}

/** What a contender may take to reach its masters again, ms. */
export const readyTimeout = 10_000;

/** Resolves when every master has answered; a connection that was lost is waited for. */
export async function untilAnswered(
  clients: readonly Redis[],
  ask: (client: Redis) => Promise<unknown> = (client) => client.ping(),
): Promise<void> {
  await Promise.all(
    clients.map(async (client) => {
      const answered = async (): Promise<void> => {
        if (client.status !== "ready") await once(client, "ready");
        await ask(client);
      };
      const { host, port } = client.options;
      await within(answered(), readyTimeout, `${host}:${port} did not answer`);
    }),
  );
}

export function closeClients(clients: readonly Redis[]): void {
  for (const client of clients) client.disconnect();
}
