import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
// The package has no name for it: how commands are sent is seen here.
import { connectionOf } from "../../packages/redlock/src/adapters/client-libraries.ts";
import { lockNodeContract } from "./lock-node-contract.ts";
import { redisDriver } from "./redis-driver.ts";

/** A client whose command class cannot be replaced: its commands are sent by `call`, each with a promise. */
function callingClient(port: number): Redis {
  const client = new Redis(port, "127.0.0.1");
  const duplicate = client.duplicate.bind(client);
  client.duplicate = (override) => {
    const own = duplicate(override);
    const call = own.call.bind(own);
    return Object.assign(own, {
      call(this: unknown, command: string, args: string[]) {
        if (this !== own) throw new Error("only by its own client");
        return call(command, args);
      },
    });
  };
  return client;
}

describe("ioredis 6, by call", () => {
  it("sends its commands by `call`, and a plain client does not", () => {
    const clients = [callingClient(1), new Redis(1, "127.0.0.1")] as const;
    for (const client of clients) client.on("error", () => {});
    const ways = clients.map((client) => connectionOf(client).deliver === undefined);
    for (const client of clients) client.disconnect();
    expect(ways).toEqual([true, false]);
  });
});

lockNodeContract("ioredis 6, by call", redisDriver({ client: callingClient }));

lockNodeContract(
  "ioredis 6, without group commit",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1"), groupCommit: false }),
);

lockNodeContract(
  "ioredis 6, without queues",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1"), queue: false }),
);

lockNodeContract(
  "ioredis 6, without queues and group commit",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1"), queue: false, groupCommit: false }),
);

lockNodeContract(
  "ioredis 6, RESP2",
  redisDriver({ client: (port) => new Redis(port, "127.0.0.1", { protocol: 2 }) }),
);

lockNodeContract(
  "ioredis 6, keyPrefix",
  redisDriver({
    client: (port) => new Redis(port, "127.0.0.1", { keyPrefix: "app:" }),
    keyPrefix: "app:",
  }),
);

lockNodeContract(
  "ioredis 6, password",
  redisDriver({
    client: (port) => new Redis(port, "127.0.0.1", { password: "a secret" }),
    config: ["--requirepass", "a secret"],
    password: "a secret",
  }),
);
