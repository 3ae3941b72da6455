import { Redlock } from "@quorlock/redlock";
import { clusterConfig, formCluster, type Master, startProxy } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { createCluster } from "redis";
import { createCluster as createCluster5 } from "redis-5";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
// The package makes connections of clients and exports no function for it.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// A Cluster client of node-redis connects to each master, and waits for one that hangs for ever.

type Options = Parameters<typeof createCluster>[0];

const ttl = 20_000;
/** Long enough for a loaded machine to connect in a quarter of it. */
const connectTimeout = 4000;
const cluster = Fleet.forTests(3, { config: clusterConfig });
const opened: { destroy(): void; isOpen: boolean }[] = [];

beforeAll(() => formCluster(cluster.admins));
afterEach(() => {
  for (const client of opened.splice(0)) if (client.isOpen) client.destroy();
});

const versions = [
  ["6", createCluster],
  ["5", createCluster5],
] as const;

const at = ({ port }: { port: number }) => ({ host: "127.0.0.1", port });

describe.each(versions)("a Cluster by node-redis %s", (_, create) => {
  function open(options: Options): ReturnType<typeof createCluster> {
    const client = create(options);
    client.on("error", () => {});
    client.on("node-error", () => {});
    opened.push(client);
    return client;
  }

  it("locks on the masters that answer beside one that accepts connections and hangs", async () => {
    const [first, , third] = cluster.masters as [Master, Master, Master];
    const client = open({
      rootNodes: [{ socket: at(first) }],
      defaults: { socket: { connectTimeout } },
    });
    await third.hang();
    const redlock = new Redlock([client], { nodeTimeout: connectTimeout, retryCount: 0 });
    const resource = await keyOn(0);
    const lock = await redlock.acquire(resource, ttl);
    expect(await cluster.admins[0]!.get(resource)).toBe(lock.value);
    await lock.release();
    await third.resume();
    const elsewhere = await keyOn(2);
    await until("it votes as well", async () => {
      const late = await redlock.tryAcquire(elsewhere, ttl).catch(() => null);
      await late?.release();
      return late !== null;
    });
    await redlock.quit();
  });

  it.each<[string, Partial<Options>]>([
    [
      "abortSignal and typeMapping",
      { commandOptions: { abortSignal: AbortSignal.abort(), typeMapping: { 36: Buffer } } },
    ],
    ["time-out", { commandOptions: { timeout: 5000 } }],
    [
      "options of nodes",
      { defaults: { pingInterval: 1, commandsQueueMaxLength: 1, socket: { socketTimeout: 20 } } },
    ],
    ["clientSideCache", { RESP: 3, clientSideCache: { ttl: 0, maxEntries: 0, evictPolicy: "LRU" } }],
  ])("no command of a lock has the user's %s", async (_option, options) => {
    const [first] = cluster.masters as [Master];
    const [admin] = cluster.admins as [Redis];
    await admin.config("RESETSTAT");
    const client = open({ rootNodes: [{ socket: at(first) }], ...options });
    const redlock = new Redlock([client], { nodeTimeout: connectTimeout, retryCount: 0 });
    const resource = await keyOn(0);
    await (await redlock.acquire(resource, ttl)).release();
    // (The question for the slots has one.)
    const timeouts = vi.spyOn(AbortSignal, "timeout");
    try {
      const before = await acceptedBy(admin);
      const idle = performance.now();
      await until("it was idle for many intervals", () => performance.now() - idle > 100);
      await (await redlock.acquire(resource, ttl)).release();
      expect(await acceptedBy(admin)).toBe(before);
      expect(await admin.info("commandstats")).not.toMatch(/cmdstat_(ping|client\|tracking):/);
      expect(timeouts).not.toHaveBeenCalled();
    } finally {
      timeouts.mockRestore();
      await redlock.quit();
    }
  });

  it("quit closes a client once the pending commands of each of its nodes are answered", async () => {
    const [first] = cluster.masters as [Master];
    for (const index of [0, 1, 2]) {
      const client = open({ rootNodes: [{ socket: at(first) }] });
      await client.connect();
      const redlock = new Redlock([client], { nodeTimeout: connectTimeout, retryCount: 0 });
      const answer = client.blPop(await keyOn(index), 0.5);
      answer.catch(() => {});
      await redlock.quit();
      expect(client.isOpen).toBe(false);
      expect(await answer).toBe(null);
    }
  });

  it("sends on a new connection nothing that waited on the old one", async () => {
    const [first] = cluster.masters as [Master];
    await using proxy = await startProxy(first);
    const client = open({
      rootNodes: [{ socket: at(proxy) }],
      nodeAddressMap: { [`127.0.0.1:${first.port}`]: at(proxy) },
      defaults: { socket: { connectTimeout } },
    });
    const connection = connectionOf(client);
    await connection.connectFirst();
    const resource = await keyOn(0);
    await connection.send("SET", [resource, "known", "PX", ttl]);
    proxy.hold("requests");
    // More than the proxy and the kernel keep, so that the last of them wait in the client.
    const late = Array.from({ length: 400 }, (__, index) =>
      connection.send("SET", [`{${resource}}${index}`, "x".repeat(200_000), "PX", ttl]),
    );
    const settled = Promise.allSettled(late);
    await proxy.when(({ requests }) => requests.held > 0);
    await proxy.refuse();
    proxy.reset();
    await settled;
    await proxy.accept();
    await proxy.heal();
    await until("it is connected again", () =>
      connection.send("GET", [resource]).then(
        (value) => value === "known",
        () => false,
      ),
    );
    expect(await cluster.admins[0]!.keys(`{${resource}}*`)).toEqual([]);
    await cluster.admins[0]!.del(resource);
    connection.disconnect();
  });
});

/** The connections that a master has accepted so far. */
async function acceptedBy(admin: Redis): Promise<number> {
  return Number(/total_connections_received:(\d+)/.exec(await admin.info("stats"))![1]);
}

/** A name in a slot of this master. */
async function keyOn(index: number): Promise<string> {
  for (;;) {
    const key = fresh();
    const slot = await cluster.admins[index]!.cluster("KEYSLOT", key);
    if (Math.floor((slot * 3) / 16_384) === index) return key;
  }
}
