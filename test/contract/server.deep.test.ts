import { type Masters, startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { afterAll, beforeAll, describe } from "vitest";
import { type Library, serverCases } from "./server-cases.ts";

// PROTOCOL 2.9, 2.18.

// Our connections follow the user's client to another server, whatever its library shows of its connection.

let masters: Masters;
beforeAll(async () => {
  masters = await startMasters(2, { say: () => {} });
});
afterAll(() => masters.stop());

const host = "127.0.0.1";

function likeIoredis(Client: typeof Redis, asksServer = true): Library {
  return {
    asksServer,
    open(port) {
      const client = new Client({ host, port, enableReadyCheck: asksServer });
      client.on("error", () => {});
      return client;
    },
    get: (client: Redis, key) => client.get(key),
    close: (client: Redis) => client.disconnect(),
  };
}

function likeNodeRedis(create: typeof createClient, options: object = {}): Library {
  return {
    asksServer: true,
    open(port) {
      const client = create({ socket: { host, port }, ...options });
      client.on("error", () => {});
      client.connect().catch(() => {});
      return client;
    },
    get: (client: ReturnType<typeof createClient>, key) => client.get(key),
    close: (client: ReturnType<typeof createClient>) => {
      if (client.isOpen) client.destroy();
    },
  };
}

const old = Redis5;

describe.each<[string, Library]>([
  ["ioredis 6", likeIoredis(Redis)],
  ["ioredis 6 without a ready check", likeIoredis(Redis, false)],
  ["ioredis 5", likeIoredis(old)],
  ["ioredis 5 without a ready check", likeIoredis(old, false)],
  ["iovalkey", likeIoredis(Valkey as unknown as typeof Redis)],
  ["node-redis 6", likeNodeRedis(createClient)],
  ["node-redis 6, RESP 2", likeNodeRedis(createClient, { RESP: 2, maintNotifications: "disabled" })],
  ["node-redis 5", likeNodeRedis(createClient5)],
])("%s", (_, library) => {
  serverCases(library, () => {
    const [first, second] = masters.list;
    return [first!, second!];
  });
});
