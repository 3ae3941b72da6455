import { startEmbeddedMasters } from "@quorlock/simulation/embedded";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

// The same suite as for a real Redis: whoever tests with embedded masters relies on that.
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
