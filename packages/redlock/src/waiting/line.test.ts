import { expect, test } from "vitest";
import { Lock } from "../holding/lock.ts";
import { Redlock } from "../redlock.ts";
import { virtualSetting } from "../virtual-time.test.ts";
import { successorFor } from "./line.ts";

// PROTOCOL 2.10, 7.16.

test("a lease that is handed over unchanged counts a server once that has voted by another way than its next vote", async () => {
  const { time, redlock } = virtualSetting(3, { nodeTimeout: 50 });
  const lease = Lock.leaseOf(await time.run(redlock.acquire("r", 1000)));
  await time.advance(5);
  const settings = Redlock.internalsOf(redlock).settingsFor({});
  const [, until] = lease.votes.deadlines;
  lease.votes.move(0, 1);
  lease.end();
  const successor = successorFor(lease, { resources: ["r"], ttl: 1000, settings });
  successor.renew(until! + 500, 1, 2, 0);
  expect(successor.votes.deadlines).toEqual([Number.NEGATIVE_INFINITY, until! + 500, until]);
});
