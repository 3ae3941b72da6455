import { Redis } from "ioredis";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

lockNodeContract("ioredis 6", redisDriver({ client: (port) => new Redis(port, "127.0.0.1") }));
