import { describe, expect, test } from "vitest";
import { rateOf, settingsFor, surelyOff } from "./advice.ts";
import type { Observation, Reading } from "./observe.ts";

function reading(at: number, time: number, roundTrip: number): Reading {
  return { at, time, roundTrip, ahead: 0 };
}

function observation(readings: readonly Reading[], firstAnswer = 1): Observation {
  const rest = {
    name: "a",
    hosts: [],
    info: {},
    runIds: [],
    refused: new Map(),
    answered: new Set<string>(),
  };
  return { ...rest, readings: [...readings], firstAnswer };
}

/** A clock of this rate, read `count` times in a second. */
function clock(rate: number, roundTrip: number, count = 6): readonly Reading[] {
  return Array.from({ length: count }, (_, index) => {
    const at = (1000 * index) / (count - 1);
    return reading(at, 5000 + rate * at, roundTrip);
  });
}

describe("the rate of a clock", () => {
  test("is known to the round trips over the time between them", () => {
    const rate = rateOf(clock(1.05, 2))!;
    expect(rate.excess).toBeCloseTo(0.05, 9);
    expect(rate.uncertainty).toBeCloseTo(0.002, 9);
    expect(surelyOff(rate)).toBeCloseTo(0.048, 9);
  });

  test("within its uncertainty is not off", () => {
    expect(surelyOff(rateOf(clock(1.05, 60))!)).toBe(0);
    expect(rateOf([reading(0, 0, 1)])).toBeUndefined();
  });
});

describe("the settings", () => {
  test.each([
    // Near: the shortest default.
    [clock(1, 0.2), 1, { nodeTimeout: 50, ttl: 1000, driftFactor: 0.01 }],
    // Ten usual round trips.
    [clock(1, 20), 1, { nodeTimeout: 200, ttl: 4000, driftFactor: 0.01 }],
    // Three of the slowest one.
    [[...clock(1, 1), reading(2000, 7000, 90)], 1, { nodeTimeout: 300, ttl: 6000, driftFactor: 0.01 }],
    // A connection that is opened first.
    [clock(1, 1), 340, { nodeTimeout: 350, ttl: 7000, driftFactor: 0.01 }],
    // A clock that is surely wrong, with what is not known of it.
    [clock(0.9, 2), 1, { nodeTimeout: 50, ttl: 1000, driftFactor: 0.11 }],
  ])("follow from the slowest master: case %#", (readings, firstAnswer, expected) => {
    const near = observation(clock(1, 0.1));
    expect(settingsFor([near, observation(readings, firstAnswer)])).toEqual(expected);
  });

  test("are not known without a reading", () => {
    expect(settingsFor([observation([])])).toBeUndefined();
  });
});
