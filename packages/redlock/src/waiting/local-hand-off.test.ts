import { expect, test } from "vitest";
import { Lock } from "../holding/lock.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import type { AcquireCall } from "../protocol/request.ts";
import { Redlock } from "../redlock.ts";
import { virtualSetting } from "../virtual-time.test.ts";
import { reuseLease } from "./local-hand-off.ts";

// PROTOCOL 2.10, 7.16.

test("a lease that is handed over unchanged counts a server once that has voted by another way than its next vote", async () => {
  const { time, redlock, nodes } = virtualSetting(3, { nodeTimeout: 50 });
  const lease = Lock.leaseOf(await time.run(redlock.acquire("r", 1000)));
  await time.advance(5);
  const settings = Redlock.internalsOf(redlock).settingsFor({});
  const request = { resources: ["r"], ttl: 1000, settings };
  const call: AcquireCall = { request, attempts: new Attempts(nodes) };
  const [, until] = lease.deadlines;
  lease.voteMoves(0, 1);
  lease.end();
  const { successor } = reuseLease(lease, call, call)!;
  successor.renew(1, until! + 500);
  expect(successor.deadlines).toEqual([Number.NEGATIVE_INFINITY, until! + 500, until]);
});
