import { describe, expect, test } from "vitest";
import { ClockTrack } from "./clock-track.ts";

function track(...segments: ReadonlyArray<readonly [number, number, number, number, boolean]>): ClockTrack {
  const made = new ClockTrack();
  for (const [at, monotonic, wall, rate, isSuspended] of segments)
    made.add({ at, monotonic, wall, rate, isSuspended });
  return made;
}

describe("when a clock first shows something", () => {
  test("a clock that gains 25 % shows 1,250 ms after a second", () => {
    expect(track([0, 0, 500, 250_000, false]).first("wall", 1750, 0)).toBe(1_000_000);
  });

  test("a rate that changes on the way counts from then on", () => {
    const clock = track([0, 0, 0, 0, false], [1_000_000, 1000, 1000, 1_000_000, false]);
    expect(clock.first("monotonic", 3000, 0)).toBe(2_000_000);
  });

  test("a step forward over it is the moment of the step", () => {
    const clock = track([0, 0, 0, 0, false], [300_000, 300, 5300, 0, false]);
    expect(clock.first("wall", 1000, 0)).toBe(300_000);
    expect(clock.first("monotonic", 1000, 0)).toBe(1_000_000);
  });

  test("a step back makes it later", () => {
    const clock = track([0, 0, 0, 0, false], [300_000, 300, -700, 0, false]);
    expect(clock.first("wall", 1000, 0)).toBe(2_000_000);
  });

  test("suspended, the monotonic clock stands still and the wall clock goes on", () => {
    const clock = track([0, 0, 0, 0, false], [100_000, 100, 100, 0, true], [600_000, 100, 600, 0, false]);
    expect(clock.first("monotonic", 200, 0)).toBe(700_000);
    expect(clock.first("wall", 200, 0)).toBe(200_000);
  });

  test("a time that has passed is shown at once", () => {
    expect(track([0, 0, 1000, 0, false]).first("wall", 900, 123)).toBe(123);
  });
});

test("stretches contain the offset of the wall clock", () => {
  const clock = track([0, 0, 1_000_020, 0, false], [500_000, 500, 1_000_320, 10_000, false]);
  expect(clock.stretches(1_000_000, 1_000_000)).toEqual([
    [0, 500_000, 20, 20, 0],
    [500_000, 1_000_000, -180, -175, 10_000],
  ]);
});
