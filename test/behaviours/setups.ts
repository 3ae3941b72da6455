import type { Master as Server } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import Redis50 from "ioredis-5.0";
import { Redis as RedisOfValkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient50 } from "redis-5.0";
import type { Setup, UserClient } from "./real.ts";

const host = "127.0.0.1";

export function likeIoredis(client: Pick<Redis, "on" | "select" | "disconnect">): UserClient {
  client.on("error", () => {});
  return {
    client,
    select: (database) => client.select(database),
    end: () => client.disconnect(),
  };
}

function likeNodeRedis(client: ReturnType<typeof createClient>): UserClient {
  client.on("error", () => {});
  client.connect().catch(() => {});
  return {
    client,
    select: (database) => client.select(database),
    end: () => void (client.isOpen && client.destroy()),
  };
}

function clusterOf(port: number, server: Server): UserClient {
  const natMap = { [`${host}:${server.port}`]: { host, port } };
  return likeIoredis(new Cluster([{ host, port }], { natMap }) as unknown as Redis);
}

type Ioredis = Pick<Redis, "on" | "select" | "disconnect">;

/** The ways in which the cases run on real masters. */
export const setups: Readonly<Record<string, Setup>> = {
  ioredis: { name: "ioredis 6", open: (port) => likeIoredis(new Redis(port, host)) },
  "ioredis-oldest": {
    name: "ioredis 5.0",
    open: (port) => likeIoredis(new (Redis50 as unknown as typeof Redis)(port, host)),
  },
  "with-clocks": {
    name: "ioredis 6, with masters whose clocks can be set",
    has: "clocks",
    open: (port) => likeIoredis(new Redis(port, host)),
  },
  "with-replicas": {
    name: "ioredis 6, with masters that have replicas and files",
    has: "replicas",
    open: (port) => likeIoredis(new Redis(port, host)),
  },
  iovalkey: {
    name: "iovalkey",
    open: (port) => likeIoredis(new RedisOfValkey(port, host) as unknown as Ioredis),
  },
  "node-redis": {
    name: "node-redis 6",
    place: "node-redis",
    open: (port) => likeNodeRedis(createClient({ socket: { host, port } })),
  },
  "node-redis-oldest": {
    name: "node-redis 5.0",
    place: "node-redis",
    open: (port) =>
      likeNodeRedis(createClient50({ socket: { host, port } }) as unknown as ReturnType<typeof createClient>),
  },
  "without-scripts": {
    name: "without scripts",
    place: "without scripts",
    scripts: false,
    open: (port) => likeIoredis(new Redis(port, host)),
  },
  "one-redis": {
    name: "one Redis",
    place: "one Redis",
    isSingle: true,
    open: (port) => likeIoredis(new Redis(port, host)),
  },
  cluster: { name: "a Cluster", place: "a Cluster", isSingle: true, isCluster: true, open: clusterOf },
};
