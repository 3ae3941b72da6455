import { Redis } from "iovalkey";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

lockNodeContract("iovalkey", redisDriver({ client: (port) => new Redis(port, "127.0.0.1") }));
