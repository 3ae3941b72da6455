import { InvalidArgumentError } from "../errors.ts";
import type { Connection } from "../redis/connection.ts";
import { type BunRedisClient, BunUser, isBunRedis } from "./bun/bun.ts";
import { type IoredisClient, IoredisUser, isIoredis } from "./ioredis/ioredis.ts";
import { isIoredisMock, MockConnection } from "./ioredis-mock/ioredis-mock.ts";
import { isNodeRedis, type NodeRedisClient, NodeRedisUser } from "./node-redis/node-redis.ts";
import type { UserClient } from "./own-client.ts";
import { OwnConnection } from "./own-connection.ts";

/** A client of a library that has an adapter. */
export type RedisClient = IoredisClient | NodeRedisClient | BunRedisClient;

export function isRedisClient(client: unknown): client is RedisClient {
  return isIoredis(client) || isNodeRedis(client) || isBunRedis(client) || isIoredisMock(client);
}

export function isCluster(client: RedisClient): boolean {
  return userOf(client).isCluster;
}

/** A connection of its own; {@link connectionOf} returns one that all Redlocks share. */
export function newConnection(client: RedisClient): OwnConnection {
  return new OwnConnection(userOf(client));
}

/** One connection for each client of the user, shared by all Redlocks. */
const connections = new WeakMap<RedisClient, Connection>();

export function connectionOf(client: RedisClient): Connection {
  let connection = connections.get(client);
  if (!connection) {
    connection = isIoredisMock(client) ? new MockConnection(client) : newConnection(client);
    connections.set(client, connection);
  }
  return connection;
}

export function userOf(client: RedisClient): UserClient {
  if (isIoredisMock(client))
    throw new InvalidArgumentError("ioredis-mock runs scripts: pass its client itself");
  if (isIoredis(client)) return new IoredisUser(client);
  if (isNodeRedis(client)) return new NodeRedisUser(client);
  if (isBunRedis(client)) return new BunUser(client);
  // `withoutScripts` takes whatever the caller passes.
  throw new InvalidArgumentError("expected a client of ioredis, iovalkey, node-redis or Bun");
}
