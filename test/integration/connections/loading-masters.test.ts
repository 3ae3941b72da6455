import { expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, timed } from "../fleet/fleet.ts";

/** A key is loaded in 1 ms, so what is written first takes long for its size, and the estimate is far too high. */
const slowly = ["--key-load-delay", "1000", "--auto-aof-rewrite-percentage", "0"];
const fleet = Fleet.forTests(1, { persistence: "aof-always", config: slowly });

it("a master that has loaded its data votes soon after, whatever it has estimated", async () => {
  const { redlock } = await fleet.openWarm({ retryCount: 0 });
  const [master] = fleet.masters;
  const [admin] = fleet.admins;
  const filling = admin!.pipeline();
  for (let key = 0; key < 2000; key += 1) filling.set(`small:${key}`, "x");
  for (let key = 0; key < 200; key += 1) filling.set(`large:${key}`, "x".repeat(100_000));
  await filling.exec();
  await master!.kill();
  await master!.restart();
  const votes = async () => (await redlock.tryAcquire(fresh("loaded"), 5000).catch(() => null)) !== null;
  const { net } = await timed(() => until("it votes", votes));
  // ioredis would have waited for up to 10 s; a connection is tried again within 2 s.
  expect(net).toBeLessThan(6000);
});
