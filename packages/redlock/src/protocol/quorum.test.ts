import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { quorumOf, toleratedFailures } from "./quorum.ts";

// PROTOCOL 2.3.

const members = fc.integer({ min: 1, max: 60 });

describe("a quorum", () => {
  test.each([
    [1, 1, 0],
    [2, 2, 0],
    [3, 2, 1],
    [4, 3, 1],
    [5, 3, 2],
    [6, 4, 2],
    [7, 4, 3],
  ])("of %i masters is %i, so %i may be missing", (count, quorum, spare) => {
    expect([quorumOf(count), toleratedFailures(count)]).toEqual([quorum, spare]);
  });

  test("is the smallest number of which any two sets share a master", () => {
    fc.assert(
      fc.property(members, (count) => {
        const quorum = quorumOf(count);
        expect(2 * quorum).toBeGreaterThan(count);
        expect(2 * (quorum - 1)).toBeLessThanOrEqual(count);
      }),
    );
  });
});
