import { Redis } from "ioredis";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

lockNodeContract("ioredis 6", redisDriver({ client: (port) => new Redis(port, "127.0.0.1") }));

lockNodeContract(
  "ioredis 6, as one of several masters",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1"), asOneOfSeveral: true }),
);
