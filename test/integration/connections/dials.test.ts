import { once } from "node:events";
import { Redis } from "ioredis";
import { expect, it, onTestFinished } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { IoredisDriver } from "../../../packages/redlock/src/adapters/ioredis/driver.ts";
import { Fleet } from "../fleet/fleet.ts";

const fleet = Fleet.forTests(1);

it("a dial is counted that the application begins in its listener of close", async () => {
  const { host, port } = fleet.masters[0]!;
  const client = new Redis(port, host, { retryStrategy: () => 10_000 });
  onTestFinished(() => client.disconnect());
  client.on("close", () => {
    if (client.status === "reconnecting") client.connect().catch(() => {});
  });
  const user = new IoredisDriver(client);
  user.watch({ onReady: () => {}, onSelect: () => {}, onEnd: () => {} });
  await once(client, "ready");
  expect(user.dials.connected).toBe(1);
  const again = once(client, "ready");
  client.disconnect(true);
  await again;
  expect(user.dials.connected).toBe(2);
});
