import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { documented, documentedByNodeRedis } from "./documented.ts";
import { contracts } from "./lock-node-contract.ts";
import { withoutScriptCommands } from "./redis-driver.ts";
import { contractWithTls } from "./tls-master.ts";

// The contract with node-redis 6 in its further forms, and with the last node-redis 5. (The plain node-redis 6 is in
// `node-redis-6.test.ts`, and older versions are in `oldest-versions.deep.test.ts`.)

const host = "127.0.0.1";
const keyPrefix = "app:";
const address = (port: number) => ({ socket: { host, port } });

contracts({
  "node-redis 5": { client: (port) => createClient5(address(port)) },
  "node-redis 5, by what is documented": {
    client: (port) => documented(createClient5(address(port)), documentedByNodeRedis),
  },
  "node-redis 6, by what is documented": {
    client: (port) => documented(createClient(address(port)), documentedByNodeRedis),
  },
  "node-redis 5, RESP3": { client: (port) => createClient5({ ...address(port), RESP: 3 }) },
  "node-redis 6, RESP2 and keyPrefix": {
    client: (port) => createClient({ ...address(port), RESP: 2, keyPrefix }),
    keyPrefix,
  },
  "node-redis 6, password and database, by a URL": {
    client: (port) => createClient({ url: `redis://:a%20secret@${host}:${port}/3` }),
    config: ["--requirepass", "a secret"],
    password: "a secret",
    database: 3,
  },
  // They change the effect or the time of a user's commands, and must not affect locks.
  "node-redis 6, command options": {
    client: (port) =>
      createClient({
        ...address(port),
        // Simple strings as buffers, numbers as strings; each command before all others.
        commandOptions: { asap: true, timeout: 1, typeMapping: { 43: Buffer, 36: Buffer, 58: String } },
      }),
  },
  "node-redis 5, without scripts": {
    ...withoutScriptCommands,
    client: (port) => createClient5(address(port)),
  },
  "node-redis 6, keyPrefix, without scripts": {
    ...withoutScriptCommands,
    client: (port) => createClient({ ...address(port), keyPrefix }),
    keyPrefix,
  },
});

contractWithTls("node-redis 6, TLS", (port) =>
  createClient({ socket: { host, port, tls: true, rejectUnauthorized: false } }),
);
