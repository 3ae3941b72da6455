import { tracingChannel } from "node:diagnostics_channel";
import { Redlock } from "@quorlock/redlock";
import { clusterConfig, formCluster, type Master } from "@quorlock/testbed";
import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { createClient, createCluster } from "redis";
import { createClient as createClient5, createCluster as createCluster5 } from "redis-5";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { callingClient } from "../../contract/calling-client.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";

// A token is enough to release a lock. The client libraries publish the arguments of commands to every tool that listens.

const ttl = 20_000;
const masters = Fleet.forTests(3);
const cluster = Fleet.forTests(3, { config: clusterConfig });
const redlocks: Redlock[] = [];

beforeAll(() => formCluster(cluster.admins));
// It closes the clients as well.
afterEach(() => Promise.all(redlocks.splice(0).map((redlock) => redlock.quit())));

const at = ({ port }: Master) => ({ host: "127.0.0.1", port });
const [node6, nodeCluster6] = [createClient, createCluster];
const [node5, nodeCluster5] = [createClient5, createCluster5] as unknown as [
  typeof node6,
  typeof nodeCluster6,
];
const [io5, ioCluster5] = [Redis5, Cluster5] as unknown as [typeof Redis, typeof Cluster];
const all = () => masters.masters;
const first = () => at(cluster.masters[0]!);

const libraries: Record<string, () => readonly object[]> = {
  "ioredis 6": () => all().map(({ port }) => new Redis(port)),
  "ioredis 5": () => all().map(({ port }) => new io5(port)),
  "ioredis 6, by call": () => all().map(({ port }) => callingClient(port)),
  "a Cluster of ioredis 6": () => [new Cluster([first()])],
  "a Cluster of ioredis 5": () => [new ioCluster5([first()])],
  "node-redis 6": () => all().map((master) => node6({ socket: at(master) })),
  "node-redis 6, RESP 2": () => all().map((master) => node6({ socket: at(master), RESP: 2 })),
  "node-redis 5": () => all().map((master) => node5({ socket: at(master) })),
  "a Cluster of node-redis 6": () => [nodeCluster6({ rootNodes: [{ socket: first() }] })],
  "a Cluster of node-redis 5": () => [nodeCluster5({ rootNodes: [{ socket: first() }] })],
};

/** Everything that is published about commands while `act` runs; their replies aside, which are published as they are. */
async function published(act: () => Promise<void>): Promise<readonly string[]> {
  const texts: string[] = [];
  const see = (message: object): void => {
    const { result: _, error, ...seen } = message as { result?: unknown; error?: Error };
    texts.push(JSON.stringify({ ...seen, error: error && [error.message, Object.entries(error)] }));
  };
  const listeners = { start: see, end: see, asyncStart: see, asyncEnd: see, error: see };
  const channels = ["ioredis", "node-redis"].flatMap((library) =>
    ["command", "batch"].map((subject) => tracingChannel(`${library}:${subject}`)),
  );
  for (const channel of channels) channel.subscribe(listeners);
  try {
    await act();
  } finally {
    for (const channel of channels) channel.unsubscribe(listeners);
  }
  return texts;
}

function waitsFor(resource: string): () => Promise<boolean> {
  return async () => {
    const queues = await Promise.all(masters.admins.map((admin) => admin.keys(`*${resource}*:*`)));
    return queues.some((keys) => keys.length > 0);
  };
}

describe.each(Object.entries(libraries))("%s", (name, open) => {
  it("publishes no token of a lock that is acquired, extended, waited for and released", async () => {
    const tokens: string[] = [];
    const resource = fresh();
    const texts = await published(async () => {
      const clients = open() as Redis[];
      for (const client of clients) client.on("error", () => {});
      const redlock = new Redlock(clients, { nodeTimeout: 2500, waitTimeout: 15_000 });
      redlocks.push(redlock);
      let lock = await redlock.acquire(resource, ttl);
      tokens.push(lock.value);
      const waiting = redlock.acquire(resource, ttl);
      // (With one Cluster alone, the waiter asks again.)
      const isQueued = name.startsWith("a Cluster") ? () => true : waitsFor(resource);
      await until("the waiter is in the queue", isQueued);
      lock = await lock.extend(ttl);
      tokens.push(lock.value);
      expect((await lock.release()).outcome).toBe("released");
      const granted = await waiting;
      tokens.push(granted.value);
      expect((await granted.release()).outcome).toBe("released");
    });
    expect(new Set(tokens).size).toBeGreaterThan(1);
    if (name.includes("node-redis")) expect(texts.join()).toContain(resource);
    expect(texts.filter((text) => tokens.some((token) => text.includes(token)))).toEqual([]);
  });
});

it("ioredis publishes other commands: the channels are the right ones", async () => {
  const texts = await published(async () => {
    await masters.admins[0]!.set("known", "value");
  });
  expect(texts.join()).toContain("known");
});
