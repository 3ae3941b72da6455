import { Redis } from "ioredis";
import { ioredisDriver } from "./ioredis-driver.ts";
import { lockNodeContract } from "./lock-node-contract.ts";

lockNodeContract("ioredis 6", ioredisDriver({ client: (port) => new Redis(port, "127.0.0.1") }));

lockNodeContract(
  "ioredis 6, as one of several masters",
  ioredisDriver({ client: (port) => new Redis(port, "127.0.0.1"), byQuestions: true }),
);
