import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

// The mode for servers that forbid scripts, and on such a server: one that has no EVAL at all.
const scripts = false;
const config = ["EVAL", "EVALSHA"].flatMap((command) => ["--rename-command", command, ""]);

lockNodeContract(
  "ioredis 5, without scripts",
  redisDriver({ scripts, config, client: (port) => new Redis5(port, "127.0.0.1") }),
);

for (const protocol of [3, 2] as const) {
  lockNodeContract(
    `ioredis 6, RESP${protocol}, without scripts`,
    redisDriver({ scripts, config, client: (port) => new Redis(port, "127.0.0.1", { protocol }) }),
  );
}

lockNodeContract(
  "ioredis 6, keyPrefix, without scripts",
  redisDriver({
    scripts,
    config,
    client: (port) => new Redis(port, "127.0.0.1", { keyPrefix: "app:" }),
    keyPrefix: "app:",
  }),
);
