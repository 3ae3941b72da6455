import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { describe, expect, it } from "vitest";
// The package has no name for it: how commands are sent is seen here.
import { callbackCommandsOf } from "../../packages/redlock/src/adapters/ioredis/callback-command.ts";
import { callingClient } from "./calling-client.ts";
import { documented, documentedByIoredis } from "./documented.ts";
import { contracts } from "./lock-node-contract.ts";
import { ofCluster, withoutScriptCommands } from "./redis-driver.ts";
import { contractWithTls } from "./tls-master.ts";

// The contract with ioredis 6 in its further forms, and with the last ioredis 5. (The plain ioredis 6 is in
// `ioredis-6.test.ts`, and older versions and their Clusters are in `oldest-versions.deep.test.ts`.)

const host = "127.0.0.1";
const keyPrefix = "app:";
const password = "a secret";

const plainClient = (port: number): Redis => new Redis(port, host);

describe("ioredis 6, by call", () => {
  it("sends its commands by `call`, and a plain client does not", () => {
    const clients = [callingClient(1), new Redis(1, host)] as const;
    for (const client of clients) client.on("error", () => {});
    const ways = clients.map((client) => callbackCommandsOf(client.duplicate({ lazyConnect: true })));
    for (const client of clients) client.disconnect();
    expect(ways.map((make) => make === undefined)).toEqual([true, false]);
  });
});

contracts({
  "ioredis 5": { client: (port) => new Redis5(port, host) },
  "ioredis 6, by call": { client: callingClient },
  "ioredis 6, by what is documented": {
    client: (port) => documented(new Redis(port, host), documentedByIoredis),
  },
  "ioredis 5, by what is documented": {
    client: (port) => documented(new Redis5(port, host), documentedByIoredis),
  },
  "ioredis 6, without group commit": { client: plainClient, groupCommit: false },
  "ioredis 6, without queues": { client: plainClient, queue: false },
  "ioredis 6, RESP2, keyPrefix and password": {
    client: (port) => new Redis(port, host, { protocol: 2, keyPrefix, password }),
    config: ["--requirepass", password],
    keyPrefix,
    password,
  },
  // They change the effect or the time of a user's commands, and must not affect locks.
  "ioredis 6, enableAutoPipelining, lazyConnect, stringNumbers and replyMapping resp3": {
    client: (port) =>
      new Redis(port, host, {
        enableAutoPipelining: true,
        lazyConnect: true,
        stringNumbers: true,
        replyMapping: "resp3",
      }),
  },
  "ioredis 6, Cluster": {
    ...ofCluster,
    // The cluster tells its clients where its masters are: the proxy has to be put in between there as well.
    client: (port, master) =>
      new Cluster([{ host, port }], { natMap: { [`${host}:${master.port}`]: { host, port } } }),
  },
  "ioredis 6, Cluster, by what is documented": {
    ...ofCluster,
    client(port, master) {
      const natMap = { [`${host}:${master.port}`]: { host, port } };
      return documented(new Cluster([{ host, port }], { natMap }), documentedByIoredis);
    },
  },
  "ioredis 5, without scripts": { ...withoutScriptCommands, client: (port) => new Redis5(port, host) },
  "ioredis 6, without scripts": { ...withoutScriptCommands, client: plainClient },
  "ioredis 6, RESP2 and keyPrefix, without scripts": {
    ...withoutScriptCommands,
    client: (port) => new Redis(port, host, { protocol: 2, keyPrefix }),
    keyPrefix,
  },
});

contractWithTls("ioredis 6, TLS", (port) => new Redis(port, host, { tls: { rejectUnauthorized: false } }));
