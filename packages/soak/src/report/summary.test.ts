import { describe, expect, test } from "vitest";
import { hasShown, type Report, violationsOf } from "./report.ts";
import { summaryOf } from "./summary.ts";

const clean: Report = {
  mode: "safe",
  seed: 7,
  seconds: 60,
  grants: 12_345,
  hotGrants: 4000,
  writes: 13_000,
  faults: { cut: 3, "kill-master": 4 },
  lost: 0,
  lostUpdates: 0,
  overlapsOfHolders: 0,
  overlapsOfEffect: 0,
  outOfOrder: 0,
  stale: 0,
  notified: { count: 5, late: 0, leastMargin: 21, leastUntilNext: 30 },
  missedLeases: 0,
  refusals: {},
  furthestCalls: [{ name: "release", beyond: 7.5, stoodStill: 0 }],
  memoryGrowth: { heap: 1, rss: 2 },
  lostAfter: {},
  unhandledRejections: 0,
  failures: [],
};
const lastLine = (report: Report): string => summaryOf(report).at(-1)!;

test("a clean run: the last line says that nothing was lost, and how to repeat the run", () => {
  expect(violationsOf(clean)).toEqual([]);
  expect(lastLine(clean)).toBe("safe: 12,345 grants, 7 faults, 0 lost updates: nothing lost (seed 7, 60 s)");
});

describe("each of these alone is a violation, and in the last line:", () => {
  test.each<[string, Partial<Report>]>([
    ["updates were lost", { lost: 1 }],
    ["updates were lost", { lostUpdates: 1 }],
    ["two held at once", { overlapsOfHolders: 1 }],
    ["two wrote at once", { overlapsOfEffect: 1 }],
    ["a write came out of order", { outOfOrder: 1 }],
    ["a write came out of order", { stale: 1 }],
    ["a holder was notified too late", { notified: { ...clean.notified, late: 1 } }],
    ["a call took too long", { furthestCalls: [{ name: "extend", beyond: 500, stoodStill: 0 }] }],
    ["something failed", { failures: ["w1 is stuck"] }],
  ])("%s: %j", (what, more) => {
    const report = { ...clean, ...more };
    expect(violationsOf(report)).toEqual([what]);
    expect(lastLine(report)).toContain(`VIOLATED: ${what}`);
  });
});

test("an unsafe run has to show a failure", () => {
  const unsafe: Report = { ...clean, mode: "unsafe" };
  expect(hasShown(unsafe)).toBe(false);
  expect(lastLine(unsafe)).toContain("NOTHING SHOWN");
  const shown: Report = { ...unsafe, lost: 9, lostUpdates: 2, stale: 2, lostAfter: { flush: 2 } };
  expect(hasShown(shown)).toBe(true);
  expect(lastLine(shown)).toContain("9 lost updates: failures shown");
  expect(summaryOf(shown).join("\n")).toContain("rejects 2 of these 2 writes");
});
