import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Gaps } from "./gaps.ts";
import { quorumOf } from "./quorum.ts";

// PROTOCOL 4.7.

/** Of one master; in lease time. */
interface Gap {
  readonly index: number;
  readonly from: number;
  until: number;
}

/** One answer, so long after the one before; its command was sent so long before that. */
interface Step {
  readonly index: number;
  readonly isThere: boolean;
  readonly after: number;
  readonly sent: number;
}

/** Every gap there ever was, compared with every other one. */
function isLost(masters: number, steps: readonly Step[]): boolean {
  const gaps: Gap[] = [];
  const foundAt = Array.from({ length: masters }, () => 0);
  let now = 0;
  for (const { index, isThere, after, sent } of steps) {
    now += after;
    if (isThere) {
      foundAt[index] = Math.max(foundAt[index]!, now - sent);
      for (const gap of gaps) if (gap.index === index) gap.until = Math.min(gap.until, now);
    } else gaps.push({ index, from: foundAt[index]!, until: Number.POSITIVE_INFINITY });
    for (const { from } of gaps) {
      const there = gaps.filter((gap) => gap.from <= from && from < gap.until);
      if (new Set(there.map((gap) => gap.index)).size >= quorumOf(masters)) return true;
    }
  }
  return false;
}

function gapsOf(masters: number): { readonly gaps: Gaps; readonly wasLost: () => boolean } {
  let lost = false;
  const owner = {
    loseToMajority(): void {
      lost = true;
    },
  };
  return { gaps: new Gaps(owner, masters, quorumOf(masters), 0), wasLost: () => lost };
}

const stepsOf = (masters: number) =>
  fc.array(
    fc.record({
      index: fc.nat(masters - 1),
      isThere: fc.boolean(),
      after: fc.integer({ min: 1, max: 5 }),
      sent: fc.nat(8),
    }),
    { maxLength: 30 },
  );

describe("the gaps of a lease", () => {
  test.each([1, 2, 3, 4, 5, 7])(
    "of %i masters lose it exactly where those of a quorum share an instant",
    (masters) => {
      fc.assert(
        fc.property(stepsOf(masters), (steps) => {
          const { gaps, wasLost } = gapsOf(masters);
          let now = 0;
          for (const { index, isThere, after, sent } of steps) {
            now += after;
            if (isThere) gaps.found(index, now - sent, now);
            else gaps.missed(index);
          }
          expect(wasLost()).toBe(isLost(masters, steps));
        }),
        { numRuns: 400 },
      );
    },
  );

  test("of two masters that forget ten thousand times, while a third is away, cost no more each time", () => {
    const { gaps, wasLost } = gapsOf(5);
    const begun = performance.now();
    for (let now = 100; now < 1_000_000; now += 100) {
      gaps.missed((now / 100) % 2);
      gaps.found((now / 100) % 2, now - 10, now);
    }
    expect(wasLost()).toBe(false);
    expect(performance.now() - begun).toBeLessThan(1000);
    // The one that was away may have voted with both.
    gaps.missed(4);
    expect(wasLost()).toBe(true);
  });

  test("of a server that has become another master reach back to where it was found before", () => {
    for (const isMoved of [false, true]) {
      const { gaps, wasLost } = gapsOf(3);
      gaps.found(1, 50, 60);
      gaps.found(2, 90, 95);
      gaps.missed(0);
      gaps.found(0, 78, 80);
      gaps.found(2, 96, 99);
      if (isMoved) gaps.moved(1, 2);
      gaps.missed(2);
      expect(wasLost()).toBe(isMoved);
    }
  });
});
