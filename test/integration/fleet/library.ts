import { env } from "node:process";
import { Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { it } from "vitest";

/** The client library of the fleets: `REDLOCK_CLIENT=node-redis` runs their tests with node-redis. */
const library = env["REDLOCK_CLIENT"] ?? "ioredis";
if (library !== "ioredis" && library !== "node-redis") throw new Error(`REDLOCK_CLIENT: no ${library} here`);

/** Both versions of the library. */
export const versions = [
  [`${library} 6`, Redis],
  [`${library} 5`, Redis5],
] as const;

/** A client of node-redis builds a class of all commands, which takes it 20 ms or more; its duplicates share it. */
const nodeRedisClients = new Map<unknown, ReturnType<typeof createClient>>();

function nodeRedisLike(Client: typeof Redis): ReturnType<typeof createClient> {
  const create = Client === versions[1][1] ? createClient5 : createClient;
  const known = nodeRedisClients.get(create) ?? create();
  nodeRedisClients.set(create, known);
  return known;
}

/** `it` for a test about something that only ioredis has. */
export function itWithIoredis(
  what: string,
): (name: string, test: () => Promise<void>, limit?: number) => void {
  if (library === "ioredis") return it;
  return (name) => it(name, ({ skip }) => skip(`REDLOCK_CLIENT is ${library}, and only ioredis has ${what}`));
}

export function hasEnded(client: Redis): boolean {
  return library === "ioredis" ? client.status === "end" : !(client as unknown as { isOpen: boolean }).isOpen;
}

/** Sends a command of the user. */
export function sendBy(client: Redis, ...[name, ...words]: [string, ...string[]]): Promise<unknown> {
  if (library === "ioredis") return client.call(name, ...words);
  return (client as unknown as ReturnType<typeof createClient>).sendCommand([name, ...words]);
}

/** A client of the library. To the compiler it is one of ioredis: what tests use of it, both have. */
export function openClient(host: string, port: number, options: RedisOptions, Client: typeof Redis): Redis {
  const client =
    library === "ioredis"
      ? new Client(port, host, options as object)
      : nodeRedis(host, port, options, Client);
  // Without a listener ioredis prints what some tests are about, and node-redis throws it.
  client.on("error", () => {});
  return client;
}

function nodeRedis(host: string, port: number, options: RedisOptions, Client: typeof Redis): Redis {
  const { db, tls, connectTimeout, retryStrategy, username, password, keyPrefix, protocol } = options;
  const reconnectStrategy = (retries: number) => Number(retryStrategy?.(retries + 1));
  const client = nodeRedisLike(Client).duplicate({
    socket: {
      host,
      port,
      ...(tls ? { tls: true, ...tls } : {}),
      ...(connectTimeout ? { connectTimeout } : {}),
      ...(retryStrategy ? { reconnectStrategy } : {}),
    } as object,
    ...(db === undefined ? {} : { database: db }),
    ...(username ? { username } : {}),
    ...(password ? { password } : {}),
    ...(keyPrefix === undefined ? {} : { keyPrefix }),
    RESP: protocol ?? 3,
    ...(protocol === 2 ? { maintNotifications: "disabled" } : {}),
  });
  const disconnect = (): void => void (client.isOpen && client.destroy());
  client.connect().catch(() => {});
  return Object.assign(client, { disconnect }) as unknown as Redis;
}
