import { expect, test } from "vitest";
import { bestOf, measurementsOf, type Rounds, ratioOf, tableOf } from "./rounds.ts";

type Quantity = "rate" | "cpu";

function roundsOf(rates: Readonly<Record<string, readonly number[]>>): Rounds<Quantity> {
  return new Map(
    Object.entries(rates).map(([name, values]) => [name, values.map((rate) => ({ rate, cpu: 1 / rate }))]),
  );
}

test("a ratio is the median of the ratios per round, not the ratio of the medians", () => {
  const rounds = roundsOf({ a: [10, 40, 30], b: [1, 8, 10] });
  expect(ratioOf(rounds, "a", "b", "rate")).toEqual({ median: 5, low: 3, high: 10 });
});

test("a contender that did not take part has no ratio", () => {
  const rounds = roundsOf({ a: [1] });
  expect(ratioOf(rounds, "a", "b", "rate")).toBeUndefined();
  expect(ratioOf(rounds, "b", "a", "rate")).toBeUndefined();
  expect(ratioOf(rounds, "a", undefined, "rate")).toBeUndefined();
});

test("the best contender has the largest median if more is better, the smallest if less is", () => {
  const rounds = roundsOf({ steady: [5, 5, 5], lucky: [1, 1, 100], slow: [2, 2, 2] });
  expect(bestOf(rounds, ["steady", "lucky", "slow"], "rate", "more")).toBe("steady");
  expect(bestOf(rounds, ["steady", "slow"], "cpu", "less")).toBe("steady");
  expect(bestOf(rounds, ["absent"], "rate", "more")).toBeUndefined();
});

test("a contender that completed nothing is not the best at low cost", () => {
  const stalled = [{ rate: 0, cpu: Number.NaN }];
  const endless = [{ rate: 0, cpu: Number.POSITIVE_INFINITY }];
  const rounds: Rounds<Quantity> = new Map([
    ["stalled", stalled],
    ["endless", endless],
    ...roundsOf({ working: [5] }),
  ]);
  expect(bestOf(rounds, ["stalled", "endless", "working"], "cpu", "less")).toBe("working");
});

test("a table has a row for each contender, and a measurement for each cell", () => {
  const rounds = roundsOf({ a: [10, 20, 30], b: [5, 10, 15] });
  const columns = [
    { quantity: "rate", title: "a second" },
    { quantity: "cpu", title: "CPU" },
  ] as const;
  const table = tableOf("Title", rounds, columns, "b");
  expect(table.columns).toEqual(["", "a second", "95 %", "x b", "CPU"]);
  expect(table.rows[0]).toEqual(["a", "20.0", "10.0..30.0", "2.00 (2.00..2.00)", "0.050"]);
  const measurements = measurementsOf("Title", rounds, columns);
  expect(measurements).toHaveLength(4);
  expect(measurements[0]).toEqual({
    title: "Title",
    contender: "a",
    quantity: "a second",
    median: 20,
    low: 10,
    high: 30,
    rounds: [10, 20, 30],
  });
});
