import { once } from "node:events";
import { within } from "@quorlock/simulation/processes";
import { Redis } from "ioredis";

/** Releases the lock. */
export type Release = () => Promise<unknown>;

/** One way to lock, with its own connections to every master. */
export interface Contender {
  readonly name: string;
  /** Locks a resource as a user of this library does; rejects on failure. */
  acquire(resource: string): Promise<Release>;
  /** Runs `routine` under a lock that the library extends; undefined if the library has no such function. */
  readonly using?: (resource: string, routine: () => Promise<void>) => Promise<void>;
  /** Resolves when every master answers, also after failures; rejects if one does not answer within 10 s. */
  ready(): Promise<void>;
  /** Closes its connections at once, without waiting for the masters. */
  quit(): Promise<void>;
}

/** The place of a process among those that pass something on in a ring. */
export interface Ring {
  readonly place: number;
  readonly size: number;
  /** The prefix of the channels. */
  readonly channel: string;
}

export interface ContenderTerms {
  readonly urls: readonly string[];
  /** The ttl of a lock, ms. */
  readonly ttl: number;
  /**
   * How long `acquire` retries while a rival holds the lock, ms; the pause between attempts is then the one that is
   * best for this library. Default: the library's own settings.
   */
  readonly waitTimeout?: number;
  /** Whether each lease has a fencing token; our client only. */
  readonly fencing?: boolean;
  /** For a contender that is a ring of processes. */
  readonly ring?: Ring;
}

export type OpenContender = (name: string, terms: ContenderTerms) => Promise<Contender>;

/** The settings in which a contender's connections differ from ioredis's defaults. */
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

/** Time limit for a contender to reach its masters again, ms. */
export const readyTimeout = 10_000;

/** Resolves when every master has answered; waits for lost connections to come back. */
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
