import { startEmbeddedMasters } from "@quorlock/simulation/embedded";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

// The same suite as for a real Redis: tests with embedded masters rely on that.
const start = () => startEmbeddedMasters(1);

lockNodeContract(
  "ioredis 5, embedded master",
  redisDriver({ start, client: (port) => new Redis5(port, "127.0.0.1") }),
);

lockNodeContract(
  "ioredis 6, embedded master",
  redisDriver({ start, client: (port) => new Redis(port, "127.0.0.1") }),
);

lockNodeContract(
  "ioredis 6, RESP2, embedded master",
  redisDriver({ start, client: (port) => new Redis(port, "127.0.0.1", { protocol: 2 }) }),
);

lockNodeContract(
  "ioredis 6, password, embedded master",
  redisDriver({
    start: () => startEmbeddedMasters(1, { password: "a secret" }),
    client: (port) => new Redis(port, "127.0.0.1", { password: "a secret" }),
    password: "a secret",
  }),
);

for (const protocol of [2, 3] as const) {
  const optionsAt = (port: number) => ({ RESP: protocol, socket: { host: "127.0.0.1", port } }) as const;

  lockNodeContract(
    `node-redis 5, RESP${protocol}, embedded master`,
    redisDriver({ start, client: (port) => createClient5(optionsAt(port)) }),
  );

  lockNodeContract(
    `node-redis 6, RESP${protocol}, embedded master`,
    redisDriver({ start, client: (port) => createClient(optionsAt(port)) }),
  );
}

lockNodeContract(
  "node-redis 6, password and database, embedded master",
  redisDriver({
    start: () => startEmbeddedMasters(1, { password: "a secret" }),
    client: (port) =>
      createClient({ password: "a secret", database: 3, socket: { host: "127.0.0.1", port } }),
    password: "a secret",
    database: 3,
  }),
);

lockNodeContract(
  "iovalkey, embedded master",
  redisDriver({ start, client: (port) => new Valkey(port, "127.0.0.1") }),
);
