import { expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh } from "../integration/fleet/fleet.ts";

const fleet = Fleet.forTests(3);
const ttl = 60_000;

it("5,000 calls of one process are served in the order of the calls", async () => {
  const resource = fresh();
  const held = await fleet.hold(resource, ttl);
  const { redlock } = await fleet.openWarm({ retryCount: -1, nodeTimeout: 5000 });
  const served: number[] = [];
  const calls = Array.from({ length: 5000 }, async (_, index) => {
    const lock = await redlock.acquire(resource, ttl);
    served.push(index);
    await lock.release();
  });
  // The calls that asked before it was known to be held are the first 64; they join the others a round trip later.
  const other = redlock.inspect(resource);
  await until("they wait", async () => (await other).every(({ queueLength }) => queueLength >= 0));
  await fleet.untilWaiting(resource);
  await held.release();
  await Promise.all(calls);
  expect(served).toEqual(Array.from({ length: 5000 }, (_, index) => index));
}, 60_000);
