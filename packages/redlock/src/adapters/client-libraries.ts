import { InvalidArgumentError } from "../errors.ts";
import type { Connection } from "../redis/connection.ts";
import { shown } from "../settings/ranges.ts";
import { keptFor } from "../time/kept.ts";
import type { Driver } from "./driver.ts";
import { type IoredisClient, IoredisDriver, isIoredis } from "./ioredis/driver.ts";
import { MasterConnection } from "./master-connection.ts";
import { isNodeRedis, kindOfNodeRedis, type NodeRedisClient, NodeRedisDriver } from "./node-redis/driver.ts";

export { checkAddresses } from "./node-redis/driver.ts";

/** A `Redis` or `Cluster` of ioredis or iovalkey, or a client of node-redis. */
export type RedisClient = IoredisClient | NodeRedisClient;

export function isRedisClient(client: unknown): client is RedisClient {
  return isIoredis(client) || isNodeRedis(client);
}

export function isCluster(client: RedisClient): boolean {
  return driverOf(client).isCluster;
}

/** A connection of its own; {@link connectionOf} returns one that all Redlocks share. */
export function newConnection(client: RedisClient): MasterConnection {
  return new MasterConnection(driverOf(client));
}

/** One connection for each client of the user, shared by all Redlocks. */
export function connectionOf(client: RedisClient): Connection {
  return keptFor("connections", client, () => newConnection(client));
}

export function driverOf(client: RedisClient): Driver {
  if (isIoredis(client)) return new IoredisDriver(client);
  if (isNodeRedis(client)) return new NodeRedisDriver(client);
  // `withoutScripts` takes whatever the caller passes.
  throw new InvalidArgumentError("expected a client of ioredis, iovalkey or node-redis");
}

/** Describes a value that is not a supported client, and what is one. */
export function notAClient(client: unknown): string {
  return `${kindOf(client)}; expected a Redis or Cluster of ioredis 4.31, 5 or 6 or of iovalkey, a client of node-redis 5 or 6`;
}

/** (A URL is not repeated: it may contain a password.) */
function kindOf(client: unknown): string {
  if (typeof client === "string") return 'a string: pass new Redis("redis://...")';
  if (typeof client !== "object" || client === null) return shown(client);
  const ofNodeRedis = kindOfNodeRedis(client);
  const isOf = (kind: string): boolean => {
    const [member, type] = kind.split(": ");
    return kind === ofNodeRedis || typeof Reflect.get(client, member!) === type;
  };
  return Object.entries(others).find(([kind]) => isOf(kind))?.[1] ?? shown(client);
}

/** What else a client may be, by the kind that node-redis has of it, or by a member of this type: the first that fits. */
const others: Readonly<Record<string, string>> = {
  pool: "a pool of node-redis, whose connections have no common order: pass createClient() instead",
  sentinel:
    "a Sentinel client of node-redis, which sends commands again: pass createClient() for its master, or new Redis({ sentinels, name }) of ioredis",
  cluster:
    "a Cluster of node-redis, which makes its connections itself and hides its options: pass new Cluster() of ioredis at the same addresses",
  "keyspaceEvents: object": "a client of ioredis-mock: pass mockMaster(client), of @quorlock/testing",
  "customCommand: function":
    "a client of Valkey GLIDE, which does not keep the order of commands and sends them late: pass a client of ioredis or node-redis",
  "createScript: function":
    "a client of @upstash/redis, which speaks HTTP, without a connection that keeps the order of commands: pass new Redis() of ioredis with the rediss:// URL of the same database",
  "bufferedAmount: number":
    "a RedisClient of Bun, which may keep commands while it is offline: pass a client of ioredis or node-redis: both run on Bun",
  "status: string":
    "a wrapper without all methods of a client, such as an adapter of BullMQ: pass the client itself that it was made of",
  "isOpen: boolean": "a client of node-redis before version 5, or its legacy client",
  "sendCommand: function": "a client of node-redis before version 5, or its legacy client",
  "then: function": "a promise: await it first",
};
