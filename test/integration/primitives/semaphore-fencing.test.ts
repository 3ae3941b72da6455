import { Semaphore } from "@quorlock/redlock/semaphore";
import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 8.1, 10.1.

const fleet = Fleet.forTests(1);

it("9,000 permits at once are granted with a fencing token, and are free after their release", async () => {
  const { redlock } = await fleet.openWarm({ fencing: true, nodeTimeout: 20_000 });
  const permits = 9000;
  const semaphore = new Semaphore(redlock, fresh("permits"), permits);
  const first = await semaphore.tryAcquire(120_000, { permits });
  expect([first?.resources.length, first?.fencingToken]).toEqual([permits, expect.any(Number)]);
  await first!.release();
  const second = await semaphore.tryAcquire(120_000, { permits });
  expect(second!.fencingToken).toBeGreaterThan(first!.fencingToken!);
  await second!.release();
});
