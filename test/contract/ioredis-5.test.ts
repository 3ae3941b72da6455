import { Redis } from "ioredis-5";
import { ioredisDriver } from "./ioredis-driver.ts";
import { lockNodeContract } from "./lock-node-contract.ts";

lockNodeContract("ioredis 5", ioredisDriver({ client: (port) => new Redis(port, "127.0.0.1") }));
