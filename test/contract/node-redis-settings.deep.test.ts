import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

// Options of the user's client that change the effect or the time of its commands. They must not affect locks.

const address = (port: number) => ({ socket: { host: "127.0.0.1", port } });

lockNodeContract(
  "node-redis 6, RESP2 and keyPrefix",
  redisDriver({
    client: (port) => createClient({ ...address(port), RESP: 2, keyPrefix: "app:" }),
    keyPrefix: "app:",
  }),
);

lockNodeContract(
  "node-redis 5, RESP3",
  redisDriver({ client: (port) => createClient5({ ...address(port), RESP: 3 }) }),
);

for (const groupCommit of [false, true]) {
  lockNodeContract(
    `node-redis 6, without queues${groupCommit ? "" : " and group commit"}`,
    redisDriver({ client: (port) => createClient(address(port)), queue: false, groupCommit }),
  );
}

lockNodeContract(
  "node-redis 6, password, by a URL",
  redisDriver({
    client: (port) => createClient({ url: `redis://:a%20secret@127.0.0.1:${port}/0` }),
    config: ["--requirepass", "a secret"],
    password: "a secret",
  }),
);

lockNodeContract(
  "node-redis 6, database",
  redisDriver({
    client: (port) => createClient({ ...address(port), database: 3 }),
    database: 3,
  }),
);

lockNodeContract(
  "node-redis 6, command options",
  redisDriver({
    client: (port) =>
      createClient({
        ...address(port),
        // Simple strings as buffers, numbers as strings; each command before all others.
        commandOptions: { asap: true, timeout: 1, typeMapping: { 43: Buffer, 36: Buffer, 58: String } },
      }),
  }),
);
