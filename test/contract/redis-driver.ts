import { type Connection, RedisNode } from "@quorlock/redlock/internal";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import {
  clusterConfig,
  formCluster,
  type Master,
  type Masters,
  startMasters,
  startProxy,
} from "@quorlock/testbed";
import { type Driver, type DriverMaker, masterViewOf, pathThrough } from "@quorlock/testing/contract";
import { Redis } from "ioredis";
// The package makes nodes of clients and exports no function for it: the contract is for what it makes.
import { connectionOf, type RedisClient } from "../../packages/redlock/src/adapters/client-libraries.ts";

export interface RedisDriverOptions {
  /** A new client of the master that is reached at `port` (the proxy's). */
  client(port: number, master: Master): RedisClient;
  /** redis-server arguments. */
  config?: readonly string[];
  /** The prefix that the client puts before every key. */
  keyPrefix?: string;
  password?: string;
  /** The database of the client. Default 0. */
  database?: number;
  /** Default true. */
  groupCommit?: boolean;
  /** Default true. */
  queue?: boolean;
  /** Whether clients can subscribe. Default true. */
  pushes?: boolean;
  /** Default true. */
  scripts?: boolean;
  /** A Cluster has neither queues nor fencing tokens. Default false. */
  isCluster?: boolean;
  /** Prepares the master for the case. Returns the port that the proxy connects to. */
  prepare?(admin: Redis, master: Master): Promise<{ port: number }>;
  /** Starts the one master. Default: a real one. */
  start?(): Promise<Pick<Masters, "list" | "stop">>;
}

/** The options for a client of a Cluster of one master. */
export const ofCluster: Omit<RedisDriverOptions, "client"> = {
  config: clusterConfig,
  isCluster: true,
  async prepare(admin, master) {
    await formCluster([admin]);
    return master;
  },
};

/** The mode for servers that forbid scripts, and on such a server: one that has no EVAL at all. */
export const withoutScriptCommands: Omit<RedisDriverOptions, "client"> = {
  scripts: false,
  config: ["EVAL", "EVALSHA"].flatMap((command) => ["--rename-command", command, ""]),
};

/** Nodes of clients of any library, each through a proxy to another master. */
export function redisDriver(options: RedisDriverOptions): DriverMaker {
  const { scripts = true, queue = true, pushes = true, isCluster = false } = options;
  const listens = pushes ? "pushes" : "heartbeats";
  return Object.assign(() => startDriver(options), {
    queue: scripts && queue && !isCluster ? listens : "none",
    keepsCounters: scripts && !isCluster,
    makesConnections: scripts,
  } as const);
}

async function startDriver(options: RedisDriverOptions): Promise<Driver> {
  const { groupCommit = true, queue = true, scripts = true } = options;
  const masters =
    (await options.start?.()) ?? (await startMasters(1, { config: options.config ?? [], say: () => {} }));
  const master = masters.list[0]!;
  const admin = new Redis(master.port, master.host, {
    ...(options.password === undefined ? {} : { password: options.password }),
    db: options.database ?? 0,
  });
  const target = (await options.prepare?.(admin, master)) ?? master;
  const proxy = await startProxy({ host: master.host, port: target.port });
  const connectOnly = (): Connection => connectionOf(quietly(options.client(proxy.port, master)));
  return {
    master: masterViewOf((...words) => admin.call(...words), options.keyPrefix),
    path: pathThrough(proxy),
    connect() {
      if (!scripts) return withoutScripts([quietly(options.client(proxy.port, master))])[0]!;
      const connection = connectOnly();
      return new RedisNode(connection, { groupCommit, queue });
    },
    connectOnly,
    async [Symbol.asyncDispose]() {
      admin.disconnect();
      await proxy.stop();
      await masters.stop();
    },
  };
}

/** A lost connection is what some cases are about; without a listener ioredis prints it, and node-redis throws it. */
function quietly(client: RedisClient): RedisClient {
  if ("on" in client) client.on("error", () => {});
  return client;
}
