import { createClient } from "redis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

lockNodeContract(
  "node-redis 5",
  redisDriver({ client: (port) => createClient({ socket: { host: "127.0.0.1", port } }) }),
);
