import { Redis } from "ioredis";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

// Options of the user's client that change the effect or the time of its commands. They must not affect locks.

lockNodeContract(
  "ioredis 6, enableAutoPipelining",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1", { enableAutoPipelining: true }) }),
);

lockNodeContract(
  "ioredis 6, stringNumbers and replyMapping resp3",
  redisDriver({
    client: (port) => new Redis(port, "127.0.0.1", { stringNumbers: true, replyMapping: "resp3" }),
  }),
);

lockNodeContract(
  "ioredis 6, lazyConnect",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1", { lazyConnect: true }) }),
);
