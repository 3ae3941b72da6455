import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { LockNode } from "@quorlock/redlock/internal";
import { startMasters, startProxy } from "@quorlock/testbed";
import type { Driver, DriverMaker } from "@quorlock/testing/contract";
import { Cluster, Redis } from "ioredis";
import Redis50, { Cluster as Cluster50 } from "ioredis-5.0";
import { Cluster as ClusterOfValkey, Redis as RedisOfValkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { createClient as createClient50 } from "redis-5.0";
import { createClient as createClient60 } from "redis-6.0";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
// The package makes connections of clients and exports no function for it.
import {
  connectionOf,
  driverOf,
  type RedisClient,
} from "../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "./ask.ts";
import { ofCluster, redisDriver } from "./redis-driver.ts";
import { until } from "./until.ts";

// A node that is ended while it dials keeps no connection. A dial is over within a turn of the event loop, so a test
// seldom meets one: each node here is ended in the turn of its first dial, another one in the turn of its second, and so
// on until a node is ready before it dials that often.

const host = "127.0.0.1";

/** To the compiler, a class of one version will do. */
const ofIoredis = [
  ["ioredis 6", Redis, Cluster],
  ["ioredis 5.0", Redis50, Cluster50],
  ["iovalkey", RedisOfValkey, ClusterOfValkey],
] as unknown as Array<[string, typeof Redis, typeof Cluster]>;
const ofNodeRedis = [
  ["node-redis 6", createClient],
  ["node-redis 6.0", createClient60],
  ["node-redis 5", createClient5],
  ["node-redis 5.0", createClient50],
] as unknown as Array<[string, typeof createClient]>;

for (const [name, Redis, Cluster] of ofIoredis) {
  endedCases(name, redisDriver({ client: (port) => new Redis(port, host) }));
  endedCases(
    `${name}, Cluster`,
    redisDriver({
      ...ofCluster,
      client: (port, master) =>
        new Cluster([{ host, port }], { natMap: { [`${host}:${master.port}`]: { host, port } } }),
    }),
  );
}

for (const [name, createClient] of ofNodeRedis) {
  const single = (port: number) => createClient({ socket: { host, port } });
  endedCases(name, redisDriver({ client: single }));
  endedCases(
    `${name}, with the connection of its user`,
    redisDriver({ client: (port) => connecting(single(port)) }),
  );
}

describe.each(ofNodeRedis)(
  "a client of %s that was ended with its node while it dialed",
  (_, createClient) => {
    it.each([
      ["a server that accepts", true],
      ["a server that refuses", false],
    ])("is connected again by its user, after it dialed %s", async (_what, accepts) => {
      const masters = await startMasters(1, { say: () => {} });
      const proxy = await startProxy(masters.list[0]!);
      const client = createClient({
        socket: { host, port: proxy.port, reconnectStrategy: accepts ? 50 : false },
      });
      client.on("error", () => {});
      try {
        if (!accepts) await proxy.refuse();
        connecting(client);
        connectionOf(client).disconnect();
        await until("it is closed", () => !client.isOpen);
        if (!accepts) await proxy.accept();
        await client.connect();
        expect(await client.ping()).toBe("PONG");
      } finally {
        if (client.isOpen) client.destroy();
        await proxy.stop();
        await masters.stop();
      }
    });
  },
);

function connecting<Client extends { connect(): Promise<unknown> }>(client: Client): Client {
  client.connect().catch(() => {});
  return client;
}

function endedCases(name: string, makeDriver: DriverMaker): void {
  describe(`a node of ${name} that is ended while it dials keeps no connection`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await makeDriver();
    });
    afterAll(async () => driver?.[Symbol.asyncDispose]());

    it("for the first time", async () => {
      for (let dial = 1; await endAtDial(driver, dial, false); dial += 1) expect(dial).toBeLessThan(20);
    });

    it("as a link that is dropped at once", async () => {
      for (let dial = 1; await dropAtDial(driver, dial); dial += 1) expect(dial).toBeLessThan(20);
    });

    it("after it has lost its connection", async () => {
      for (let dial = 1; await endAtDial(driver, dial, true); dial += 1) expect(dial).toBeLessThan(20);
    });
  });
}

/** As {@link endAtDial}, of a link without the connection that makes it: nothing is sent any more, and it is not waited for. */
async function dropAtDial(driver: Driver, dial: number): Promise<boolean> {
  const node: LockNode = driver.connect();
  const link = driverOf(node.client as RedisClient).open(undefined);
  const sockets: Socket[] = [];
  let isDropped = false;
  let isReady = false;
  const onReady = (): void => {
    isReady = true;
  };
  const onSocket = (message: unknown): void => {
    sockets.push((message as { socket: Socket }).socket);
    if (sockets.length !== dial) return;
    queueMicrotask(() => {
      isDropped = true;
      void link.drop();
    });
  };
  subscribe("net.client.socket", onSocket);
  link.dial({ onAccepted: () => {}, onReady, onLost: () => {} });
  await until("it is ready", () => isDropped || isReady);
  const wasDialing = isDropped;
  if (!wasDialing) void link.drop();
  node.disconnect();
  await until("every socket is closed", () => sockets.every((socket) => socket.destroyed));
  unsubscribe("net.client.socket", onSocket);
  return wasDialing;
}

/**
 * Ends a node in the turn of this dial, of those that it makes at first or after a loss. Returns whether there was such a
 * dial. The proxy runs in this process as well: its dials count too.
 */
async function endAtDial(driver: Driver, dial: number, isLost: boolean): Promise<boolean> {
  const sockets: Socket[] = [];
  let remaining = isLost ? Number.POSITIVE_INFINITY : dial;
  let isEnded = false;
  const onSocket = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    sockets.push(socket);
    remaining -= 1;
    // The library holds the socket by then, and the dial has not ended yet.
    if (remaining === 0) queueMicrotask(end);
  };
  const end = (): void => {
    isEnded = true;
    node.disconnect();
  };
  subscribe("net.client.socket", onSocket);
  const node: LockNode = driver.connect();
  let ready = 0;
  node.onReady(() => {
    ready += 1;
  });
  void ask(node).inspect("anything");
  await until("the node is ready", () => isEnded || ready > 0);
  if (isLost) {
    remaining = dial;
    // (A node whose client connects behind it is ready once more, by another connection.)
    const before = ready;
    driver.path.reset();
    await until("the node is ready again", () => isEnded || ready > before);
  }
  const wasDialing = isEnded;
  if (!wasDialing) node.disconnect();
  await until("every socket is closed", () => sockets.every((socket) => socket.destroyed));
  unsubscribe("net.client.socket", onSocket);
  expect(driver.path.connections).toBe(0);
  return wasDialing;
}
