import { describe, expect, test } from "vitest";
import { Progress, progressText } from "./progress.ts";

describe("the time left", () => {
  test.each([
    [1, 100, 1000, "1 of 100 runs, 1 %"],
    [10, 100, Number.POSITIVE_INFINITY, "10 of 100 runs, 10 %"],
    [10, 100, 1000, "10 of 100 runs, 10 %, about 90 s left"],
    [99, 100, 20, "99 of 100 runs, 99 %, about 1 s left"],
    [100, 1000, 6000, "100 of 1000 runs, 10 %, about 1 h 30 min left"],
  ])("%i of %i, each taking %i ms", (done, total, each, text) => {
    expect(progressText(done, total, "runs", each)).toBe(text);
  });
});

test("output that is no terminal is not cleared", () => {
  const written: string[] = [];
  const stream = { isTTY: false, write: (text: string) => written.push(text) > 0 };
  const progress = new Progress(10, "runs", stream);
  progress.reach(1);
  progress.clear();
  expect(written).toEqual([]);
});

/** Estimates of the time left, s, with the true ones, of 200 runs whose durations are `each(run)`, s. */
function estimates(each: (run: number) => number): Array<readonly [number, number]> {
  const pairs: Array<readonly [number, number]> = [];
  let now = 0;
  let left = Array.from({ length: 200 }, (_, run) => each(run + 1)).reduce((sum, one) => sum + one, 0);
  const write = (line: string): boolean => {
    const [, minutes, seconds] = /about (?:(\d+) min|(\d+) s) left/.exec(line) ?? [];
    const estimate = minutes === undefined ? Number(seconds) : 60 * Number(minutes);
    if (Number.isFinite(estimate)) pairs.push([estimate, left]);
    return true;
  };
  const clock = { monotonic: () => 1000 * now };
  const progress = new Progress(200, "runs", { isTTY: false, write }, clock);
  for (let run = 1; run <= 200; run += 1) {
    now += each(run);
    left -= each(run);
    progress.reach(run);
    if (run < 20) pairs.length = 0;
  }
  return pairs.filter(([, remaining]) => remaining > 120);
}

describe("the estimate after the first tenth", () => {
  test.each<[string, (run: number) => number]>([
    ["all runs take the same time", () => 12],
    ["the first ten take ten times as long", (run) => (run <= 10 ? 120 : 12)],
    ["every eighth takes six times as long", (run) => (run % 8 === 0 ? 72 : 12)],
  ])("is right within a factor of two: %s", (_, each) => {
    const pairs = estimates(each);
    expect(pairs.length).toBeGreaterThan(100);
    for (const [estimate, left] of pairs) {
      expect(estimate).toBeGreaterThan(left / 2);
      expect(estimate).toBeLessThan(left * 2);
    }
  });
});

describe("progress", () => {
  test("is a line every ten seconds if the output is no terminal, with the time left", () => {
    const written: string[] = [];
    let now = 0;
    const stream = { isTTY: false, write: (text: string) => written.push(text) > 0 };
    const progress = new Progress(100, "runs", stream, { monotonic: () => now });
    for (now = 1000; now <= 20_000; now += 1000) progress.reach(now / 1000);
    expect(written).toEqual([
      "10 of 100 runs, 10 %, about 90 s left\n",
      "20 of 100 runs, 20 %, about 80 s left\n",
    ]);
  });
});
