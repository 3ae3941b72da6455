import { describe, expect, test } from "vitest";
import { overlapsOf } from "./overlaps.ts";
import type { Hold, Pause, Span } from "./picture.ts";

function hold(client: number, resources: readonly number[], ...beliefs: readonly Span[]): Hold {
  const [from, until] = [beliefs[0]![0], beliefs.at(-1)![1]];
  return {
    number: client + 1,
    client,
    token: client,
    resources,
    from,
    until,
    beliefs,
    margins: [],
    writes: [],
  };
}

function spans(holds: readonly Hold[], pauses: Readonly<Record<number, readonly Pause[]>> = {}): Span[] {
  return overlapsOf(holds, (client) => pauses[client] ?? []).map(({ from, until }): Span => [from, until]);
}

describe("two holders at once", () => {
  test("from where the second begins to where the first ends", () => {
    expect(spans([hold(0, [0], [10, 50]), hold(1, [0], [40, 90])])).toEqual([[40, 50]]);
  });

  test("none if one begins as the other ends, nor for different resources", () => {
    expect(spans([hold(0, [0], [10, 50]), hold(1, [0], [50, 90])])).toEqual([]);
    expect(spans([hold(0, [0], [10, 50]), hold(1, [1], [20, 30])])).toEqual([]);
  });

  test("of any resource that they share", () => {
    const holds = [hold(0, [0, 1], [10, 50]), hold(1, [1, 2], [20, 30])];
    expect(overlapsOf(holds, () => [])).toEqual([{ resource: 1, holds: [0, 1], from: 20, until: 30 }]);
  });

  test("none within one lock that has two spans", () => {
    expect(spans([hold(0, [0], [10, 30], [20, 50])])).toEqual([]);
  });

  test("three at once are three pairs", () => {
    expect(spans([hold(0, [0], [0, 50]), hold(1, [0], [10, 50]), hold(2, [0], [20, 50])])).toEqual([
      [10, 50],
      [20, 50],
      [20, 50],
    ]);
  });

  test("a suspended client does not count as a holder; a frozen one does", () => {
    const holds = [hold(0, [0], [0, 100]), hold(1, [0], [10, 90])];
    expect(spans(holds, { 0: [[20, 60, "suspended"]] })).toEqual([
      [10, 20],
      [60, 90],
    ]);
    expect(spans(holds, { 0: [[20, 60, "frozen"]] })).toEqual([[10, 90]]);
  });
});
