import { describe, expect, test } from "vitest";
import { Lock } from "../holding/lock.ts";
import type { AcquireCall } from "../protocol/attempt.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { Redlock } from "../redlock.ts";
import type { Settings } from "../settings/settings.ts";
import { virtualSetting } from "../virtual-time.test.ts";
import { reuseLease } from "./local-hand-off.ts";

// PROTOCOL 2.10, 7.16.

const ttl = 1000;

/** A lease on "r", and calls that it may be handed on to. */
async function held(
  settings: Partial<Settings> = {},
  prepare: (at: ReturnType<typeof virtualSetting>) => void = () => {},
) {
  const at = virtualSetting(3, { nodeTimeout: 50 });
  prepare(at);
  const lock = await at.time.run(at.redlock.acquire("r", ttl, settings));
  await at.time.advance(5);
  const lease = Lock.leaseOf(lock);
  const callOf = (wanted: number): AcquireCall => ({
    request: {
      resources: ["r"],
      ttl: wanted,
      settings: Redlock.internalsOf(at.redlock).settingsFor(settings),
    },
    attempts: new Attempts(at.nodes),
  });
  return { ...at, lock, lease, callOf };
}

describe("a lease that is handed over unchanged", () => {
  test("counts a server once that has voted by another way than its next vote", async () => {
    const { lease, callOf } = await held();
    const [, until] = lease.deadlines;
    lease.voteMoves(0, 1);
    lease.end();
    const { successor } = reuseLease(lease, callOf(ttl), callOf(ttl))!;
    successor.renew(1, until! + 500);
    expect(successor.deadlines).toEqual([Number.NEGATIVE_INFINITY, until! + 500, until]);
  });
});
