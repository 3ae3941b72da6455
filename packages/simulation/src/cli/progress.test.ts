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

test("a terminal that was not written to is not cleared into", () => {
  const written: string[] = [];
  const stream = { isTTY: false, write: (text: string) => written.push(text) > 0 };
  const progress = new Progress(10, "runs", stream);
  progress.reach(1);
  progress.clear();
  expect(written).toEqual([]);
});
