import { Redlock, ResourceLockedError } from "@quorlock/redlock";
import { clusterConfig, formCluster, type Master } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import Redis50, { Cluster as Cluster50 } from "ioredis-5.0";
import { Cluster as Cluster58, Redis as Redis58 } from "ioredis-5.8";
import { Cluster as ClusterOfValkey, Redis as RedisOfValkey } from "iovalkey";
import { createClient, createCluster } from "redis";
import { createClient as createClient60, createCluster as createCluster60 } from "redis-6.0";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
// The package has no name for it: how commands are sent is seen here.
import { connectionOf, type RedisClient } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";

// During an upgrade, processes with an old and a new version of a client library lock side by side. With one key prefix
// they use the same keys. (node-redis 5 has no prefix.)

const ttl = 20_000;
const keyPrefix = "app:";
const fleet = Fleet.forTests(1);
const cluster = Fleet.forTests(3, { config: clusterConfig });
const redlocks: Redlock[] = [];

beforeAll(() => formCluster(cluster.admins));
// It closes the clients as well.
afterEach(() => Promise.all(redlocks.splice(0).map((redlock) => redlock.quit())));

const at = ({ port }: Master) => ({ host: "127.0.0.1", port });
/** To the compiler, a class of one version will do. */
const classes = [
  ["ioredis 5.0", Redis50, Cluster50],
  ["ioredis 5.8", Redis58, Cluster58],
  ["ioredis 5", Redis5, Cluster5],
  ["ioredis 6", Redis, Cluster],
  ["iovalkey", RedisOfValkey, ClusterOfValkey],
] as unknown as readonly [string, typeof Redis, typeof Cluster][];
const factories = [
  ["node-redis 6.0", createClient60, createCluster60],
  ["node-redis 6", createClient, createCluster],
] as unknown as readonly [string, typeof createClient, typeof createCluster][];

type Open = (master: Master) => RedisClient;
const clients: readonly [string, Open][] = [
  ...classes.map(([name, AnyRedis]): [string, Open] => [
    name,
    (master) => new AnyRedis({ ...at(master), keyPrefix }),
  ]),
  ...factories.map(([name, create]): [string, Open] => [
    name,
    (master) => create({ socket: at(master), keyPrefix }),
  ]),
];
const clusters: readonly [string, Open][] = [
  ...classes.map(([name, , AnyCluster]): [string, Open] => [
    name,
    (master) => new AnyCluster([at(master)], { keyPrefix }),
  ]),
  ...factories.map(([name, , create]): [string, Open] => [
    name,
    (master) => create({ rootNodes: [{ socket: at(master) }], keyPrefix }),
  ]),
];

function redlockOn(client: RedisClient): Redlock {
  (client as Redis).on("error", () => {});
  const redlock = new Redlock([client], { retryCount: 0, nodeTimeout: 5000 });
  redlocks.push(redlock);
  return redlock;
}

describe.each(clients)("a client of %s with a key prefix", (_, open) => {
  it("locks the key with the prefix, and excludes a client of the newest version", async () => {
    const [old, other] = [open, (master: Master) => new Redis({ ...at(master), keyPrefix })].map((make) =>
      redlockOn(make(fleet.masters[0]!)),
    ) as [Redlock, Redlock];
    for (const [first, second] of [
      [old, other],
      [other, old],
    ] as const) {
      for (const resources of [[fresh()], [fresh(), fresh()]]) {
        const lock = await first.acquire(resources, ttl);
        const keys = resources.map((resource) => fleet.admins[0]!.get(keyPrefix + resource));
        expect(await Promise.all(keys)).toEqual(resources.map(() => lock.value));
        expect(await rejection(second.acquire(resources, ttl))).toBeInstanceOf(ResourceLockedError);
        const extended = await lock.extend(2 * ttl);
        expect((await extended.release()).outcome).toBe("released");
        expect(await fleet.admins[0]!.exists(keyPrefix + resources[0]!)).toBe(0);
      }
    }
  });

  it("grants a lock to a client of the newest version that waits for it, and back", async () => {
    const [old, other] = [open, (master: Master) => new Redis({ ...at(master), keyPrefix })].map((make) =>
      redlockOn(make(fleet.masters[0]!)),
    ) as [Redlock, Redlock];
    const resource = fresh();
    let lock = await old.acquire(resource, ttl);
    for (const next of [other, old]) {
      const waiting = next.acquire(resource, ttl, { waitTimeout: 15_000 });
      await expect.poll(() => fleet.admins[0]!.keys(`quorlock:queue:*${resource}*:*`)).toHaveLength(1);
      await lock.release();
      lock = await waiting;
    }
    await lock.release();
  });
});

/** The keys of the cluster whose name ends so. */
async function keysEnding(resource: string): Promise<readonly string[]> {
  return (await Promise.all(cluster.admins.map((admin) => admin.keys(`*${resource}`)))).flat();
}

describe.each(clusters)("a Cluster of %s with a key prefix", (_, open) => {
  it("locks the key with the prefix, and excludes a Cluster of the newest version", async () => {
    const [old, other] = [open, (master: Master) => new Cluster([at(master)], { keyPrefix })].map((make) =>
      redlockOn(make(cluster.masters[0]!)),
    ) as [Redlock, Redlock];
    for (const [first, second] of [
      [old, other],
      [other, old],
    ] as const) {
      const resource = fresh();
      const lock = await first.acquire(resource, ttl);
      expect(await keysEnding(resource)).toEqual([keyPrefix + resource]);
      expect(await rejection(second.acquire(resource, ttl))).toBeInstanceOf(ResourceLockedError);
      expect((await lock.release()).outcome).toBe("released");
      expect(await keysEnding(resource)).toEqual([]);
    }
  });
});

it.each(classes)("the fast path takes the commands of %s", async (_, AnyRedis) => {
  const client = new AnyRedis({ ...at(fleet.masters[0]!), keyPrefix });
  redlockOn(client);
  expect(connectionOf(client).deliver).toBeDefined();
});
