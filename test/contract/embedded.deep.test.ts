import { startEmbeddedMasters } from "@quorlock/simulation/embedded";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { contracts } from "./lock-node-contract.ts";

// The same suite as for a real Redis: tests with embedded masters rely on that. The libraries greet in different ways.

const host = "127.0.0.1";
const password = "a secret";
const start = () => startEmbeddedMasters(1);

contracts({
  "ioredis 5, embedded master": { start, client: (port) => new Redis5(port, host) },
  "ioredis 6, embedded master": { start, client: (port) => new Redis(port, host) },
  "ioredis 6, RESP2 and password, embedded master": {
    start: () => startEmbeddedMasters(1, { password }),
    client: (port) => new Redis(port, host, { password, protocol: 2 }),
    password,
  },
  "iovalkey, embedded master": { start, client: (port) => new Valkey(port, host) },
  "node-redis 5, embedded master": { start, client: (port) => createClient5({ socket: { host, port } }) },
  "node-redis 6, RESP2, embedded master": {
    start,
    client: (port) => createClient({ RESP: 2, socket: { host, port } }),
  },
  "node-redis 6, password and database, embedded master": {
    start: () => startEmbeddedMasters(1, { password }),
    client: (port) => createClient({ password, database: 3, socket: { host, port } }),
    password,
    database: 3,
  },
});
