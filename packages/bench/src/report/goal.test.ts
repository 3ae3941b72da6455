import { expect, test } from "vitest";
import { type Goal, goalsTable, isFarOff, isMet } from "./goal.ts";

const floor: Goal = { name: "rate", measured: 6, limit: 6, isFloor: true, unit: "x" };
const ceiling: Goal = { name: "requests", measured: 12, limit: 12, unit: "" };

test("a goal is met up to its limit, and far off beyond half or twice of it", () => {
  expect([floor, { ...floor, measured: 5.9 }].map(isMet)).toEqual([true, false]);
  expect(
    [
      { ...floor, measured: 3 },
      { ...floor, measured: 2.9 },
    ].map(isFarOff),
  ).toEqual([false, true]);
  expect([ceiling, { ...ceiling, measured: 12.1 }].map(isMet)).toEqual([true, false]);
  expect(
    [
      { ...ceiling, measured: 24 },
      { ...ceiling, measured: 24.1 },
    ].map(isFarOff),
  ).toEqual([false, true]);
});

test("what could not be measured is not met, and far off", () => {
  expect(isMet({ ...floor, measured: Number.NaN })).toBe(false);
  expect(isFarOff({ ...floor, measured: Number.NaN })).toBe(true);
});

test("the table says what is met and what is short", () => {
  const spread = { median: 5.9, low: 5, high: 7 };
  const { rows } = goalsTable([floor, { ...floor, measured: 5.9, spread }], "");
  expect(rows).toEqual([
    ["rate", "6", "", ">= 6", "x", "met"],
    ["rate", "5.90", "5.00..7.00", ">= 6", "x", "short"],
  ]);
});
