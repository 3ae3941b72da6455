import { InvalidArgumentError, Redlock } from "@quorlock/redlock";
import { createBunRedisClient, createIORedisClient, Queue } from "bullmq";
import { Cluster, Redis } from "ioredis";
import { createClient } from "redis";
import { expect, onTestFinished, test } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 2.2. What BullMQ hands out are Proxies and adapters of its own.

const fleet = Fleet.forTests(3);

async function clientOf(connection: object): Promise<object> {
  const queue = new Queue(fresh("jobs"), {
    connection,
    skipVersionCheck: true,
  });
  queue.on("error", () => {});
  onTestFinished(() => queue.close());
  // (Up to version 5 it is the queue's own property.)
  const { backend } = queue as unknown as { readonly backend: { readonly client: Promise<object> } };
  const client = await backend.client;
  (client as Redis).on("error", () => {});
  return client;
}

function refused(client: object): unknown {
  try {
    return new Redlock([client as Redis]);
  } catch (error) {
    return error;
  }
}

test("the clients of its queues lock", async () => {
  const clients = await Promise.all(fleet.masters.map(({ host, port }) => clientOf({ host, port })));
  const redlock = new Redlock(clients as Redis[], { nodeTimeout: 5000 });
  const resource = fresh();
  const lock = await redlock.acquire(resource, 30_000);
  await lock.extend(30_000);
  const waits = redlock.acquire(resource, 30_000);
  expect((await lock.release()).outcome).toBe("released");
  expect((await (await waits).release()).outcome).toBe("released");
  await redlock.quit({ keepClients: true });
});

test("a client of its queue that never connects makes no rejection that nothing catches", async () => {
  const client = new Redis({ port: 1, lazyConnect: true, maxRetriesPerRequest: null });
  client.on("error", () => {});
  const redlock = new Redlock([createIORedisClient(client)], { retryCount: 0 });
  await expect(redlock.acquire(fresh(), 30_000)).rejects.toThrow("UNREACHABLE");
  await redlock.quit();
});

test("its Cluster, which drops the options of a duplicate, is refused", () => {
  const nodes = [{ host: "127.0.0.1", port: 1 }];
  const cluster = new Cluster(nodes, { lazyConnect: true, scaleReads: "slave" });
  cluster.on("error", () => {});
  onTestFinished(() => cluster.disconnect());
  const error = refused(createIORedisClient(cluster));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect((error as Error).message).toContain(
    "which locks need: pass the client itself, and no wrapper of it",
  );
});

test("its adapters of other libraries are refused, and what is wanted is told", async () => {
  const { host, port } = fleet.masters[0]!;
  const client = createClient({ socket: { host, port } });
  client.on("error", () => {});
  const ofNodeRedis = await clientOf(client);
  // As Bun's client: nothing is sent on it.
  const bun = { connected: false, send: async () => null, connect: async () => {}, close() {} };
  for (const adapter of [ofNodeRedis, createBunRedisClient(bun as never)]) {
    const error = refused(adapter);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect((error as Error).message).toContain(
      "client 0 is a wrapper without all methods of a client, such as an adapter of BullMQ: pass the client itself",
    );
  }
});
