import { type NodeError, Redlock } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { describe, expect, onTestFinished, test } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 2.18. An address in options is compared with where the client is.

const fleet = Fleet.forTests(3);
const ttl = 30_000;
const own = { nodeTimeout: 5000, owner: false } as const;

type Client = ReturnType<typeof createClient>;

function ended(client: Client): Client {
  client.on("error", () => {});
  onTestFinished(() => {
    if (client.isOpen) client.destroy();
  });
  return client;
}

describe.each([
  ["6", createClient],
  ["5", createClient5],
] as const)("clients of node-redis %s that share a socket object", (_, create) => {
  /** Each writes the address of its url into the object. */
  const sharing = (): Client[] => {
    const socket = { reconnectStrategy: () => 50 };
    return fleet.masters.map(({ url }) => ended(create({ url, socket })));
  };

  test.each([
    ["that is connected", true],
    ["before they are connected, and after", false],
  ])("lock each on its own server %s", async (_how, isConnected) => {
    const clients = sharing();
    if (isConnected) await Promise.all(clients.map((one) => one.connect()));
    const redlock = new Redlock(clients, own);
    const errors: NodeError[] = [];
    redlock.on("error", (error) => errors.push(error));
    for (const connects of [false, !isConnected]) {
      if (connects) await Promise.all(clients.map((one) => one.connect()));
      const resource = fresh();
      const lock = await redlock.acquire(resource, ttl);
      await fleet.untilHeld(lock);
      await lock.release();
    }
    expect(errors).toEqual([]);
  });

  test("are refused where an address is in that object alone: it may be that of another", () => {
    const socket = { port: 1 };
    const [plain, other] = [ended(create({ socket })), ended(create({ socket }))] as const;
    const named = ended(create({ url: fleet.masters[0]!.url, socket }));
    const byDefault = ended(create({ url: "redis://127.0.0.1", socket }));
    for (const clients of [
      [plain, other],
      [plain, named],
      [named, byDefault],
    ])
      expect(() => new Redlock(clients)).toThrow(/share one socket object.+give each its own/);
    const copies = [1, 2].map(() => ended(create({ url: "redis://127.0.0.1", socket: { ...socket } })));
    expect(() => new Redlock(copies)).not.toThrow();
  });

  test("lock at the port of the socket where the url has none", async () => {
    const [{ port }] = fleet.masters as [Master];
    const redlock = new Redlock([ended(create({ url: "redis://127.0.0.1", socket: { port } }))], own);
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    expect(await fleet.values(resource)).toEqual([lock.value, null, null]);
    await lock.release();
  });

  test("lock where they are once a connection is lost", async () => {
    const [client] = sharing() as [Client];
    await client.connect();
    const redlock = new Redlock([client], own);
    const resource = fresh();
    await (await redlock.acquire(resource, ttl)).release();
    await fleet.admins[0]!.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    await redlock.ready({ timeout: 20_000 });
    const lock = await redlock.acquire(resource, ttl);
    expect(await fleet.values(resource)).toEqual([lock.value, null, null]);
    await lock.release();
  });
});

interface Movable {
  /** Connects it to the first master, and then changes its options to the address of the second. */
  open(first: number, second: number): Promise<object>;
}

const ofIoredis = (Client: typeof Redis): Movable => ({
  async open(first, second) {
    const client = new Client(first);
    client.on("error", () => {});
    onTestFinished(() => client.disconnect());
    await client.ping();
    client.options.port = second;
    return client;
  },
});
const ofNodeRedis = (create: typeof createClient): Movable => ({
  async open(first, second) {
    const client = ended(create({ socket: { port: first } }));
    await client.connect();
    (client.options as { socket: { port: number } }).socket.port = second;
    return client;
  },
});

describe.each([
  ["ioredis 6", ofIoredis(Redis)],
  ["ioredis 5", ofIoredis(Redis5)],
  ["iovalkey", ofIoredis(Valkey as unknown as typeof Redis)],
  ["node-redis 6", ofNodeRedis(createClient)],
  ["node-redis 5", ofNodeRedis(createClient5)],
] as const)("a client of %s whose options have come to lead elsewhere", (_, library) => {
  test("is followed while it is at a replica: it has not seen a failover yet", async () => {
    const [first, second] = fleet.masters as readonly [Master, Master];
    const [replica] = fleet.admins as [Redis];
    const client = (await library.open(first.port, second.port)) as Redis;
    await replica.replicaof(first.host, second.port);
    try {
      const redlock = new Redlock([client], own);
      await (await redlock.acquire(fresh(), ttl)).release();
    } finally {
      await replica.replicaof("NO", "ONE");
    }
  });
});

test("a client that another command blocks makes no lock wait for it", async () => {
  const client = new Redis(fleet.masters[0]!.port);
  onTestFinished(() => client.disconnect());
  client.on("error", () => {});
  const blocked = client.blpop(fresh("list"), 0).catch(() => {});
  const redlock = new Redlock([client], own);
  await (await redlock.acquire(fresh(), ttl)).release();
  client.disconnect();
  await blocked;
});
