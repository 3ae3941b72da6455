import { Redis } from "ioredis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

lockNodeContract("ioredis 5", redisDriver({ client: (port) => new Redis(port, "127.0.0.1") }));
