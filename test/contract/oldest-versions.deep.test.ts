import Redis4, { Cluster as Cluster4 } from "ioredis-4";
import Redis50, { Cluster as Cluster50 } from "ioredis-5.0";
import { Cluster as Cluster58, Redis as Redis58 } from "ioredis-5.8";
import { Cluster as ClusterOfValkey, Redis as RedisOfValkey } from "iovalkey";
import { createClient as createClient50 } from "redis-5.0";
import { createClient as createClient60 } from "redis-6.0";
import { expect, it } from "vitest";
// The package has no name for it: how commands are sent is seen here.
import { callbackCommandsOf } from "../../packages/redlock/src/adapters/ioredis/callback-command.ts";
import { contracts } from "./lock-node-contract.ts";
import { ofCluster } from "./redis-driver.ts";

// The contract with the oldest version that each peer range admits, and the last one of ioredis that does not find the
// keys of commands in upper case: the keys of each command are found where they have a prefix.

const host = "127.0.0.1";
const keyPrefix = "app:";

/** To the compiler, a class of one version will do. */
type AnyRedis = typeof Redis58;
type AnyCluster = typeof Cluster58;

for (const [name, Redis, Cluster] of [
  ["ioredis 4", Redis4 as unknown as AnyRedis, Cluster4 as unknown as AnyCluster],
  ["ioredis 5.0", Redis50 as unknown as AnyRedis, Cluster50 as unknown as AnyCluster],
  ["ioredis 5.8", Redis58, Cluster58],
  ["iovalkey", RedisOfValkey as unknown as AnyRedis, ClusterOfValkey as unknown as AnyCluster],
] as const) {
  const client = (port: number) => new Redis(port, host, { keyPrefix });
  it(`${name} is given whole commands, which is the fast way`, () => {
    const unused = new Redis(1, host, { keyPrefix, lazyConnect: true });
    expect(callbackCommandsOf(unused)).toBeDefined();
    unused.disconnect();
  });
  contracts({
    [`${name}, keyPrefix`]: { client, keyPrefix },
    [`${name}, keyPrefix, without scripts`]: { scripts: false, client, keyPrefix },
    [`${name}, Cluster, keyPrefix`]: {
      ...ofCluster,
      keyPrefix,
      client: (port, master) =>
        new Cluster([{ host, port }], { keyPrefix, natMap: { [`${host}:${master.port}`]: { host, port } } }),
    },
  });
}

contracts({ iovalkey: { client: (port) => new RedisOfValkey(port, host) } });

contracts({
  "node-redis 5.0": { client: (port) => createClient50({ socket: { host, port } }) },
  "node-redis 6.0": { client: (port) => createClient60({ socket: { host, port } }) },
});
