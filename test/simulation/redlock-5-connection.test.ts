import { once } from "node:events";
import { startMasters, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis-5";
import { expect, test } from "vitest";

// The facts that the simulation's stand-in for ioredis rests on (packages/simulation/src/peers/ioredis-connection.ts), seen on
// the real one with its defaults. Its unit tests hold the stand-in to the same.

test("ioredis sends again what was unanswered, and then what waited for a connection", async () => {
  const masters = await startMasters(1);
  const { port } = new URL(masters.urls[0]!);
  await using proxy = await startProxy({ host: "127.0.0.1", port: Number(port) });
  const client = new Redis(proxy.url);
  // A connection that breaks is what this is about.
  client.on("error", () => {});
  try {
    await once(client, "ready");
    proxy.hold("replies");
    const executed = client.rpush("order", "executed");
    await proxy.when(({ replies }) => replies.held > 0);
    proxy.dropRequests();
    const unanswered = client.rpush("order", "unanswered");
    await proxy.when(({ requests }) => requests.dropped > 0);
    // (`once` of node:events would take the error for the end.)
    const closed = new Promise((resolve) => client.once("close", resolve));
    proxy.reset();
    await closed;
    const offline = client.rpush("order", "offline");
    await proxy.heal();
    expect(await Promise.all([executed, unanswered, offline])).toEqual([2, 3, 4]);
    expect(await client.lrange("order", 0, -1)).toEqual(["executed", "executed", "unanswered", "offline"]);
  } finally {
    client.disconnect();
    await masters.stop();
  }
});

test("ioredis waits at a pace of 50 ms more each time, 2 s at most, for 20 tries", () => {
  const { options } = new Redis({ lazyConnect: true });
  expect([1, 20, 40, 100].map((attempt) => options.retryStrategy?.(attempt))).toEqual([50, 1000, 2000, 2000]);
  expect(options).toMatchObject({
    maxRetriesPerRequest: 20,
    enableOfflineQueue: true,
    autoResendUnfulfilledCommands: true,
  });
});
