import { expect, test } from "vitest";
import { jainIndex, median, pairwiseRatios, quantile, summaryOf } from "./statistics.ts";

test("a quantile lies between the two nearest values", () => {
  expect(quantile([10, 20, 30, 40], 0.5)).toBe(25);
  expect(quantile([10, 20, 30, 40, 50], 0.1)).toBe(14);
  expect(quantile([], 0.5)).toBeNaN();
});

test("the median does not depend on the order, nor on a few values far off", () => {
  expect(median([3, 1, 1e9, 2, 0])).toBe(2);
});

test("a majority of failures, infinitely long each, has an infinite median", () => {
  expect(median([1, 2, Infinity, Infinity, Infinity])).toBe(Infinity);
  expect(median([1, 2, 3, Infinity, Infinity])).toBe(3);
});

test("the confidence interval of a median follows from the ranks", () => {
  const summary = summaryOf(Array.from({ length: 100 }, (_, index) => index));
  // The textbook's ranks for n = 100: the 40th and the 61st value, with ranks counted from 1.
  expect(summary.low).toBe(40);
  expect(summary.high).toBe(60);
  expect(summary.p10).toBeCloseTo(9.9);
  expect(summary.p90).toBeCloseTo(89.1);
});

test("ratios are taken pair by pair", () => {
  expect(pairwiseRatios([2, 30], [1, 20])).toEqual([2, 1.5]);
  expect(() => pairwiseRatios([1], [])).toThrow(RangeError);
});

test("Jain's index: equal shares are 1, one who has everything among n is 1/n", () => {
  expect(jainIndex([7, 7, 7, 7])).toBe(1);
  expect(jainIndex([9, 0, 0])).toBeCloseTo(1 / 3);
  // The textbook's example of two classes: 2 of 4 have everything, evenly.
  expect(jainIndex([5, 5, 0, 0])).toBe(0.5);
  expect(jainIndex([0, 0])).toBeNaN();
});
