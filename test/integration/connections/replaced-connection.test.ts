import { once } from "node:events";
import { RedisNode } from "@quorlock/redlock/internal";
import { type Master, startProxy, type Proxy as TestProxy } from "@quorlock/testbed";
import { afterEach, beforeEach, expect } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { connectionOf } from "../../../packages/redlock/src/adapters/client-libraries.ts";
import { ask } from "../../contract/ask.ts";
import { Fleet, fresh } from "../fleet/fleet.ts";
import { itWithIoredis } from "../fleet/library.ts";

// PROTOCOL 2.16.

// An operation of two commands sends both on one connection, even if the next connection is ready before the first answer.

const fleet = Fleet.forTests(1);
const ttl = 20_000;
let master: Master;
let before: TestProxy;
let after: TestProxy;
beforeEach(async () => {
  master = fleet.masters[0]!;
  [before, after] = [await startProxy(master), await startProxy(master)];
  await fleet.admin(master).script("FLUSH");
});
afterEach(async () => {
  fleet.closeAll();
  for (const proxy of [before, after]) await proxy.stop();
});

/** node-redis makes a client for each connection. */
const withIoredis = itWithIoredis("a connection that its client replaces");

/** The first command has been executed, and the next connection stands before the answer to it is heard. */
async function replaced<T>(command: (node: RedisNode) => Promise<T>): Promise<T> {
  const [client] = fleet.open({ on: [before] }).clients;
  const node = new RedisNode(connectionOf(client!), { groupCommit: false });
  const claim = { token: "other", ttl, abandoned: false };
  const vote = async () => (await ask(node).vote({ resources: [fresh()], ...claim })).is;
  expect(await vote()).toBe("yes");
  before.hold("replies");
  const answer = command(node);
  await before.when(({ replies }) => replies.held > 0);
  const end = once(client!, "end");
  client!.disconnect();
  client!.stream.destroy();
  await end;
  client!.options.port = after.port;
  await client!.connect();
  expect(await vote()).toBe("yes");
  before.release("replies");
  return answer;
}

withIoredis("a script that the master does not know is not sent as text on it", async () => {
  const resource = fresh();
  await fleet.occupy(resource, [master], ttl, "mine");
  const answer = await replaced((node) => ask(node).release([resource], "mine"));
  expect(answer).toMatchObject({ is: "fault", error: { reason: "NOSCRIPT" } });
  expect(await fleet.values(resource)).toEqual(["mine"]);
});
