import { describe, expect, test } from "vitest";
import { Trace, type TraceValue } from "./trace.ts";

function hashOf(...entries: ReadonlyArray<readonly [number, ...TraceValue[]]>): string {
  const trace = new Trace();
  for (const [time, ...entry] of entries) trace.add(time, ...entry);
  return trace.hash;
}

describe("the trace hash", () => {
  test("is the same for the same events", () => {
    expect(hashOf([1, "a", 2], [3, "b"])).toBe(hashOf([1, "a", 2], [3, "b"]));
    expect(hashOf([1, "a"])).toMatch(/^[0-9a-f]{16}$/);
  });

  test("differs for another time, argument, order, border or sign, also beyond 32 bits", () => {
    const stories: ReadonlyArray<ReadonlyArray<readonly [number, ...TraceValue[]]>> = [
      [],
      [[1, "a", 2]],
      [[2, "a", 2]],
      [[2 ** 32 + 1, "a", 2]],
      [[1, "a", -2]],
      [[1, "a", 2.5]],
      [[1, "ab", 2]],
      [[1, "a", "b", 2]],
      [[1, "a", 2, "b"]],
      [
        [1, "a"],
        [2, "b"],
      ],
      [
        [2, "b"],
        [1, "a"],
      ],
    ];
    expect(new Set(stories.map((story) => hashOf(...story))).size).toBe(stories.length);
  });

  test("no two of 200,000 neighbouring entries share a hash", () => {
    const seen = new Set<string>();
    for (let time = 0; time < 200_000; time += 1) seen.add(hashOf([time, "x"]));
    expect(seen.size).toBe(200_000);
  });
});
