import { expect, test } from "vitest";
import { Engine } from "../engine/engine.ts";
import { Kernel } from "../engine/kernel.ts";
import type { Judged } from "./checker.ts";
import { Findings } from "./findings.ts";
import type { LockInterval } from "./lock-interval.ts";
import type { LockIntervals } from "./lock-intervals.ts";
import { Shares } from "./shares.ts";

type Step = readonly [act: "begins" | "acts" | "ends", holder: number, permits?: number];

/**
 * The findings for these steps, one a microsecond, with two permits; `believed`: whether holders observe that they
 * hold.
 */
async function judged(believed: boolean, ...steps: readonly Step[]): Promise<readonly string[]> {
  const kernel = new Kernel(new Engine());
  const findings = new Findings(() => kernel.now);
  const believes = ({ isOver }: LockInterval): boolean => believed && !isOver;
  const shares = new Shares({ kernel, findings } as Judged, { believes } as unknown as LockIntervals);
  const intervals = new Map<number, LockInterval>();
  const take = ([act, holder, permits = 1]: Step): void => {
    const process = { name: `client-${holder}`, now: kernel.now, isSuspended: false };
    const lock = { share: { of: "s", permits, limit: 2 } };
    const interval =
      intervals.get(holder) ??
      ({ number: holder, process, lock, beganAt: kernel.now, isOver: false } as unknown as LockInterval);
    intervals.set(holder, interval);
    (interval.process as { now: number }).now = kernel.now;
    if (act === "begins") shares.see({ is: "held", interval, wait: undefined, isGranted: true });
    else if (act === "acts") shares.see({ is: "acted", interval });
    else interval.isOver = true;
  };
  for (const [index, step] of steps.entries()) kernel.engine.schedule(() => take(step), index + 1);
  await kernel.run(steps.length + 1, () => false);
  return findings.violations.map(({ kind }) => kind);
}

function turnOf(holder: number): readonly Step[] {
  return [
    ["begins", holder],
    ["acts", holder],
    ["acts", holder],
    ["ends", holder],
  ];
}

test("holders up to the limit are allowed, and one more is not", async () => {
  expect(await judged(true, ["begins", 1], ["begins", 2])).toEqual([]);
  expect(await judged(true, ["begins", 1], ["begins", 2], ["begins", 3])).toEqual(["belief"]);
  expect(await judged(true, ["begins", 1], ["begins", 2, 2])).toEqual(["belief"]);
  expect(await judged(true, ["begins", 1], ["begins", 2], ["ends", 1], ["begins", 3])).toEqual([]);
});

test("a holder that acts before and after others have begun to act held all along, observed or not", async () => {
  const begun: readonly Step[] = [
    ["begins", 1],
    ["begins", 2],
    ["begins", 3],
    ["acts", 1],
    ["acts", 2],
    ["acts", 3],
  ];
  expect(await judged(false, ...begun)).toEqual([]);
  expect(await judged(false, ...begun, ["acts", 1])).toEqual([]);
  expect(await judged(false, ...begun, ["acts", 1], ["acts", 2])).toEqual(["effect"]);
});

test("consecutive holders did not hold together", async () => {
  expect(await judged(false, ...turnOf(1), ...turnOf(2), ...turnOf(3))).toEqual([]);
});
