import { startMasters } from "@quorlock/testbed";
import { expect, it } from "vitest";
import { quorlock, redisLock } from "./contenders.ts";
import { contend } from "./contention.ts";

// The one of the foreign clients that needs no network; `main.ts` has them all.
const foreign = await redisLock(false);
const missing = "missing" in foreign ? foreign.missing : undefined;
if (missing !== undefined) console.log(`NOT RUN: redis-py's Lock does not contend with ours: ${missing}`);

it.skipIf(missing !== undefined)(
  "redis-py's Lock on each of the masters and ours exclude each other",
  async () => {
    if ("missing" in foreign) return;
    await using masters = await startMasters(3, { say: () => {} });
    const { tallies, lostUpdates } = await contend(masters, [quorlock(), foreign], 3000);
    expect(lostUpdates).toBe(0);
    for (const { grants, overlaps } of Object.values(tallies)) {
      expect(overlaps).toBe(0);
      expect(grants).toBeGreaterThan(0);
    }
  },
);
