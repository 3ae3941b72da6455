import { startMasters } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { quorlock, redisLock } from "./contenders.ts";
import { contend } from "./contention.ts";

// The one of the foreign clients that needs no network; `main.ts` has them all.
const foreign = await redisLock(false);

it("redis-py's Lock on each of the masters and ours exclude each other", async (context) => {
  if ("missing" in foreign) {
    console.log(`SKIPPED: redis-py's Lock does not contend with ours: ${foreign.missing}`);
    return context.skip(foreign.missing);
  }
  await using masters = await startMasters(3, { say: () => {} });
  const { tallies, lostUpdates } = await contend(masters, [quorlock(), foreign], 3000);
  expect(lostUpdates).toBe(0);
  for (const { grants, overlaps } of Object.values(tallies)) {
    expect(overlaps).toBe(0);
    expect(grants).toBeGreaterThan(0);
  }
});
