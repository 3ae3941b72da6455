import { describe, expect, test } from "vitest";
import type { ClockEvent } from "../errors.ts";
import type { Reading } from "../protocol/reading.ts";
import { MasterClock } from "../redis/master-clock.ts";
import type { ClockWatchOptions } from "../settings/settings.ts";
import { type ClockWatch, skewOf, stepBetween, WatchedClock } from "./clock-watch.ts";

// PROTOCOL 11.1.

const driftFactor = 0.01;
const start = 1_700_000_000_000;

/** Two clocks of a client and those of some masters, all of which can be set. */
function setting(options: ClockWatchOptions = {}, count = 3) {
  const now = { monotonic: 1000, wall: start };
  const ahead = Array.from({ length: count }, () => 0);
  const events: ClockEvent[] = [];
  const runtime = { monotonic: () => now.monotonic, wall: () => now.wall };
  const emit = (event: ClockEvent) => events.push(event);
  const watch: ClockWatch = { options, driftFactor, runtime, emit, clocks: [] };
  const distrusted: string[] = [];
  const masters = ahead.map(() => new MasterClock(runtime));
  const clocks = masters.map((clock, index) => {
    const name = `master-${index}`;
    return new WatchedClock(watch, name, clock, () => distrusted.push(name));
  });
  let truth = start;
  const pass = (ms: number): void => {
    truth += ms;
    now.monotonic += ms;
    now.wall += ms;
  };
  /** Each master is asked, and has the question after a part of the round trip. */
  const read = (roundTrip = 2): void => {
    for (const [index, clock] of masters.entries()) {
      const sent = clock.now();
      pass(roundTrip / 2);
      const time = truth + ahead[index]!;
      pass(roundTrip / 2);
      clock.observe(sent, time);
    }
  };
  return { now, ahead, events, masters, clocks, distrusted, pass, read };
}

const reading = (at: number, ofMonotonic: number, ofWall: number): Reading => ({
  is: "reading",
  sent: { monotonic: at, wall: at },
  heard: { monotonic: at, wall: at },
  ofMonotonic,
  ofWall,
  uncertainty: 2,
});

describe("a step", () => {
  test("is shown by both local clocks, and explained by no rate", () => {
    expect(stepBetween(reading(0, 0, 0), reading(1000, 50, 49), driftFactor)).toBe(49);
    expect(stepBetween(reading(0, 0, 0), reading(1000, -50, -60), driftFactor)).toBe(-50);
    expect(stepBetween(reading(0, 0, 0), reading(1000, 13, 13), driftFactor)).toBe(0);
    expect(stepBetween(reading(0, 0, 0), reading(100_000, 900, 900), driftFactor)).toBe(0);
  });

  test("is none where one of our own clocks has leapt", () => {
    // Our wall clock was set, or this machine slept.
    expect(stepBetween(reading(0, 0, 0), reading(1000, 0, -5000), driftFactor)).toBe(0);
    expect(stepBetween(reading(0, 0, 0), reading(1000, 5000, 0), driftFactor)).toBe(0);
  });
});

const at = (ahead: number) => reading(0, ahead, ahead);

test("the median of all is what a master strays from, and none of two does", () => {
  expect(skewOf(at(500), [at(0), at(10)])).toBe(490);
  expect(skewOf(at(0), [at(500), at(10)])).toBe(-10);
  expect(skewOf(at(10), [at(500), at(0)])).toBe(0);
  expect(skewOf(at(500), [at(0), at(10), at(20)])).toBe(480);
  expect(skewOf(at(500), [at(0)])).toBe(0);
  expect(skewOf(at(500), [])).toBe(0);
});

describe("the watch", () => {
  test("notices a step between two readings that are on their way together; of two that agree the earlier one stays", () => {
    const { now, ahead, clocks, masters, pass, events } = setting();
    const readTwice = (): void => {
      const sent = [masters[0]!.now(), masters[0]!.now()];
      pass(1);
      masters[0]!.observe(sent[0]!, now.wall - 1);
      pass(9);
      masters[0]!.observe(sent[1]!, now.wall - 1 + ahead[0]!);
    };
    readTwice();
    expect(clocks[0]!.latest!.uncertainty).toBeLessThan(2);
    ahead[0] = 500;
    readTwice();
    expect(events.map(({ kind }) => kind)).toEqual(["stepped"]);
  });

  test("remembers a step for the longest known ttl, and calls the function that makes the master remember", () => {
    for (const exclude of [false, true]) {
      for (const maxTtl of [undefined, 20_000]) {
        const { ahead, clocks, distrusted, pass, read } = setting({ exclude, maxTtl });
        clocks[2]!.askedFor(5000);
        read();
        ahead[2] = 500;
        read();
        expect(clocks.map((clock) => clock.hasSteppedLately)).toEqual([false, false, true]);
        expect(distrusted).toEqual(exclude ? ["master-2"] : []);
        pass(5001);
        expect(clocks[2]!.hasSteppedLately).toBe(maxTtl !== undefined);
        pass(15_000);
        expect(clocks[2]!.hasSteppedLately).toBe(false);
      }
    }
  });
});
