import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readingOf } from "../protocol/reading.ts";
import { MasterClock } from "./master-clock.ts";

// PROTOCOL 7.2, 11.1.

const start = 1_700_000_000_000;

describe("a reading", () => {
  test("is never off by more than its uncertainty, wherever in the round trip it was made", () => {
    const roundTrips = fc.double({ min: 0, max: 500, noNaN: true });
    const parts = fc.double({ min: 0, max: 1, noNaN: true });
    const property = fc.property(
      roundTrips,
      parts,
      fc.integer({ min: -1e6, max: 1e6 }),
      (roundTrip, part, ahead) => {
        const sent = { monotonic: 50, wall: start };
        const heard = { monotonic: 50 + roundTrip, wall: Math.floor(start + roundTrip) };
        const reading = readingOf(sent, heard, start + part * roundTrip + ahead);
        const bound = reading.uncertainty + 1e-3;
        expect(Math.abs(reading.ofWall - ahead)).toBeLessThanOrEqual(bound);
        expect(Math.abs(reading.ofMonotonic - (start - 50 + ahead))).toBeLessThanOrEqual(bound);
      },
    );
    fc.assert(property);
  });
});

/** Both clocks of a client, and a master's clock that shows the same as the wall clock, and `ahead` more. */
function setting() {
  const now = { monotonic: 1000, wall: start };
  const clock = new MasterClock({ monotonic: () => now.monotonic, wall: () => now.wall });
  const pass = (ms: number): void => {
    now.monotonic += ms;
    now.wall += ms;
  };
  /** The master looks at its clock at once, and its answer is heard after that time. Returns by how much the best is wrong. */
  const read = (took: number, ahead = 0): number => {
    const sent = clock.now();
    const time = now.wall + ahead;
    pass(took);
    clock.observe(sent, time);
    return Math.round(clock.best!.ofMonotonic - (start - 1000) - ahead);
  };
  return { pass, read };
}

describe("the best of several readings", () => {
  test("is the most exact one: a busy process hears the answer late", () => {
    const { read } = setting();
    expect([20, 2, 40].map((took) => read(took))).toEqual([-10, -1, -1]);
  });

  test("is the later one once it is more exact, since clocks drift apart", () => {
    const { pass, read } = setting();
    read(2);
    pass(100_000);
    expect(read(10)).toBe(-5);
  });
});
