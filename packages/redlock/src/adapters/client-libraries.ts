import { type IoredisClient, IoredisUser, isIoredis } from "./ioredis/ioredis.ts";
import { isNodeRedis, type NodeRedisClient, NodeRedisUser } from "./node-redis/node-redis.ts";
import { OwnConnection } from "./own-connection.ts";

/** A client of a library that has an adapter. */
export type RedisClient = IoredisClient | NodeRedisClient;

export function isRedisClient(client: unknown): client is RedisClient {
  return isIoredis(client) || isNodeRedis(client);
}

export function isCluster(client: RedisClient): boolean {
  return userOf(client).isCluster;
}

/** A connection of its own; {@link connectionOf} returns one that all Redlocks share. */
export function newConnection(client: RedisClient): OwnConnection {
  return new OwnConnection(userOf(client));
}

/** One connection for each client of the user, shared by all Redlocks. */
const connections = new WeakMap<RedisClient, OwnConnection>();

export function connectionOf(client: RedisClient): OwnConnection {
  let connection = connections.get(client);
  if (!connection) {
    connection = newConnection(client);
    connections.set(client, connection);
  }
  return connection;
}

export function userOf(client: RedisClient): IoredisUser | NodeRedisUser {
  return isIoredis(client) ? new IoredisUser(client) : new NodeRedisUser(client);
}
