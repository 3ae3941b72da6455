import { expect, test } from "vitest";
import {
  alternate,
  jainIndex,
  median,
  pairwiseRatios,
  quantile,
  spreadOf,
  turnOrders,
} from "./statistics.ts";

test("a quantile lies between the two nearest values", () => {
  expect(quantile([10, 20, 30, 40], 0.5)).toBe(25);
  expect(quantile([10, 20, 30, 40, 50], 0.1)).toBe(14);
  expect(quantile([], 0.5)).toBeNaN();
});

test("the median does not depend on the order or on a few outliers", () => {
  expect(median([3, 1, 1e9, 2, 0])).toBe(2);
});

test("the median is infinite if a majority of the values are infinite", () => {
  expect(median([1, 2, Infinity, Infinity, Infinity])).toBe(Infinity);
  expect(median([1, 2, 3, Infinity, Infinity])).toBe(3);
});

test("the confidence interval of a median follows from the ranks", () => {
  // The textbook's ranks for n = 100: the 40th and the 61st value, with ranks counted from 1.
  expect(spreadOf(Array.from({ length: 100 }, (_, index) => index))).toEqual({
    median: 49.5,
    low: 40,
    high: 60,
  });
  expect(spreadOf([7, 3, 1, 2, 5, 4, 6])).toEqual({ median: 4, low: 1, high: 7 });
  expect(spreadOf([]).median).toBeNaN();
});

test("ratios are taken pair by pair", () => {
  expect(pairwiseRatios([2, 30], [1, 20])).toEqual([2, 1.5]);
  expect(() => pairwiseRatios([1], [])).toThrow(RangeError);
});

test("Jain's index is 1 for equal shares and 1/n if one of n has everything", () => {
  expect(jainIndex([7, 7, 7, 7])).toBe(1);
  expect(jainIndex([9, 0, 0])).toBeCloseTo(1 / 3);
  // The textbook's example of two classes: 2 of 4 have everything, evenly.
  expect(jainIndex([5, 5, 0, 0])).toBe(0.5);
  expect(jainIndex([0, 0])).toBeNaN();
});

test.each([1, 2, 3, 4, 5, 6, 7])(
  "%i contenders: each takes each position, and follows each other contender, equally often",
  (count) => {
    const orders = turnOrders(count);
    const places = new Map<string, number>();
    const neighbours = new Map<string, number>();
    for (const order of orders) {
      expect(new Set(order).size).toBe(count);
      for (const [place, contender] of order.entries()) {
        const at = `${contender} at ${place}`;
        places.set(at, (places.get(at) ?? 0) + 1);
        if (place === 0) continue;
        const after = `${contender} after ${order[place - 1]}`;
        neighbours.set(after, (neighbours.get(after) ?? 0) + 1);
      }
    }
    expect(places.size).toBe(count * count);
    expect(new Set(places.values()).size).toBe(1);
    expect(neighbours.size).toBe(count * (count - 1));
    expect(new Set(neighbours.values()).size).toBeLessThanOrEqual(1);
  },
);

test("samples of one pass have the same index", async () => {
  const samples = await alternate(["a", "b", "c"], 7, async (contender, pass) => `${contender}${pass}`);
  expect(samples.get("a")).toEqual(["a0", "a1", "a2", "a3", "a4", "a5", "a6"]);
  expect(samples.get("c")?.at(-1)).toBe("c6");
});
