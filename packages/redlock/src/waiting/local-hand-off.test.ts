import { describe, expect, test } from "vitest";
import { Lock } from "../holding/lock.ts";
import type { AcquireCall } from "../protocol/attempt.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { releaseKeys } from "../protocol/release.ts";
import { Redlock } from "../redlock.ts";
import type { Settings } from "../settings/settings.ts";
import { refusal, virtualSetting } from "../virtual-time.test.ts";
import { reuseLease, transferToken } from "./local-hand-off.ts";

// PROTOCOL 2.6, 2.10, 7.16, 7.17.

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

  test.each([
    [0.05, true],
    [0.06, false],
  ])("allows for the drift of the next call: %d of 0.05", async (wanted, isReused) => {
    const { time, redlock, lock, lease, callOf } = await held({ driftFactor: 0.05 });
    expect(await time.run(redlock.verify(lock))).toBe(true);
    lease.end();
    const next = callOf(ttl);
    const settings = { ...next.request.settings, driftFactor: wanted };
    const reused = reuseLease(lease, callOf(ttl), { ...next, request: { ...next.request, settings } });
    expect(reused !== undefined).toBe(isReused);
  });
});

describe("the keys of a token transfer that fails are deleted on a master that is back", () => {
  test.each([
    ["as long as the ttl of the next call", 60_000, 2 * ttl, false],
    ["also if it was never asked for the lease before", ttl, ttl / 2, true],
  ])("%s", async (_, wanted, away, isNew) => {
    const { time, masters, nodes, lease, callOf } = await held(
      {},
      (at) => void (isNew && at.nodes[2]!.cut()),
    );
    if (isNew) nodes[2]!.restore();
    const call = callOf(wanted);
    for (const [index, node] of nodes.entries())
      node.answering = ({ kind, tokens }) => {
        if ((kind as string) !== "transfer") return undefined;
        if (index < 2) return refusal("rival", 1);
        masters[2]!.put("r", tokens[0]!, wanted);
        return { vote: "yes", remaining: wanted };
      };
    lease.end();
    expect(await time.run(transferToken(lease, call))).toBeUndefined();
    nodes[2]!.cut();
    await time.run(releaseKeys(lease, call.request.settings));
    await time.advance(away);
    expect(masters[2]!.owner("r")).toBeDefined();
    nodes[2]!.restore();
    await time.advance(5);
    expect(masters[2]!.owner("r")).toBeUndefined();
  });
});
