import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

const scripts = false;
const config = ["EVAL", "EVALSHA"].flatMap((command) => ["--rename-command", command, ""]);

for (const RESP of [3, 2] as const) {
  lockNodeContract(
    `node-redis 6, RESP${RESP}, keyPrefix, without scripts`,
    redisDriver({
      scripts,
      config,
      client: (port) => createClient({ socket: { host: "127.0.0.1", port }, RESP, keyPrefix: "app:" }),
      keyPrefix: "app:",
    }),
  );
}

lockNodeContract(
  "node-redis 5, without scripts",
  redisDriver({
    scripts,
    config,
    client: (port) => createClient5({ socket: { host: "127.0.0.1", port } }),
  }),
);
