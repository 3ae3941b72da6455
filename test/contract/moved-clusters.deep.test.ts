import { Redlock } from "@quorlock/redlock";
import { clusterConfig, formCluster, type Masters, startMasters } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5 } from "ioredis-5";
import { Cluster as ValkeyCluster } from "iovalkey";
import { afterAll, beforeAll, expect, it } from "vitest";
import { movingAddress } from "./moving-address.ts";
import { until } from "./until.ts";

// PROTOCOL 2.18.

// Two Clusters of one master each, which announce the address that is moved from one to the other.

let masters: Masters;
let admins: readonly Redis[] = [];
beforeAll(async () => {
  masters = await startMasters(2, { config: clusterConfig, say: () => {} });
  admins = masters.list.map(({ host, port }) => new Redis(port, host));
  await Promise.all(admins.map((admin) => formCluster([admin])));
});
afterAll(async () => {
  for (const admin of admins) admin.disconnect();
  await masters.stop();
});

it.each([
  ["ioredis 6", Cluster],
  ["ioredis 5", Cluster5],
  ["iovalkey", ValkeyCluster],
] as unknown as Array<[string, typeof Cluster]>)(
  "a Cluster by %s reconnects to another one while the previous one serves on: locks follow",
  async (_, Client) => {
    const [first, second] = masters.list;
    await using address = await movingAddress(first!);
    for (const [index, admin] of admins.entries()) {
      await admin.config("SET", "cluster-announce-port", address.port);
      await admin.set("where", index);
    }
    const client = new Client([{ host: "127.0.0.1", port: address.port }], {
      clusterRetryStrategy: () => 50,
    });
    client.on("error", () => {});
    const isAt = (index: number): Promise<void> =>
      until(
        `the client is at ${index}`,
        async () => (await client.get("where").catch(() => null)) === `${index}`,
      );
    await isAt(0);
    const users = new Set(address.links);
    const redlock = new Redlock([client], { nodeTimeout: 2000, retryCount: 0 });
    let count = 0;
    const places = async (): Promise<string> => {
      count += 1;
      const resource = `moved-cluster-${address.port}-${count}`;
      const lock = await redlock.acquire(resource, 60_000).catch(() => undefined);
      const keys = await Promise.all(admins.map((admin) => admin.get(resource)));
      await lock?.release();
      return keys.map((key) => (key === null ? "-" : "key")).join();
    };
    try {
      await until("locks are at the first", async () => (await places()) === "key,-");
      address.moveTo(second!);
      for (const link of users) link.cut();
      await isAt(1);
      await until("locks are at the second", async () => (await places()) === "-,key");
      expect(await places()).toBe("-,key");
    } finally {
      void redlock.quit();
      client.disconnect();
    }
  },
);
