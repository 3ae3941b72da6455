import { once } from "node:events";
import { Redis } from "ioredis";
import { within } from "../measure/within.ts";

const readyTimeout = 10_000;

/** Where a contender wants its connections to differ from ioredis's defaults. */
export interface ClientOptions {
  readonly enableOfflineQueue?: boolean;
  readonly autoResendUnfulfilledCommands?: boolean;
  readonly maxRetriesPerRequest?: number;
  readonly enableAutoPipelining?: boolean;
}

/** One client for each master, connected. */
export async function openClients(urls: readonly string[], options: ClientOptions = {}): Promise<Redis[]> {
  const clients = urls.map((url) => new Redis(url, { ...options, lazyConnect: true }));
  for (const client of clients) {
    // Masters are killed on purpose; without a listener ioredis prints each refused connection.
    client.on("error", () => {});
  }
  await Promise.all(clients.map((client) => client.connect()));
  return clients;
}

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
