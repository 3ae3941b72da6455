import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LeaseClock } from "./lease-clock.ts";
import { systemRuntime } from "./system.ts";

// PROTOCOL 1.4, 3.4, 3.5.

interface Readings {
  monotonic: number;
  wall: number;
}

/** The fate of a machine for some ms. */
const happening = fc.tuple(fc.constantFrom("passes", "suspends", "steps", "is read"), fc.nat(5000));

describe("the lease clock", () => {
  test("the resolution of the wall clock adds nothing, even over many readings", () => {
    let monotonic = 0.9;
    const clock = new LeaseClock({
      ...systemRuntime,
      monotonic: () => monotonic,
      wall: () => Math.floor(monotonic),
    });
    for (; monotonic < 1000; monotonic += 0.7) clock.now();
    expect(clock.now()).toBeCloseTo(monotonic - 0.9, 6);
  });

  test("never goes back, and counts all time, suspensions included, if it is read before and after each step", () => {
    fc.assert(
      fc.property(fc.array(happening, { maxLength: 30 }), (happenings) => {
        const shown: Readings = { monotonic: 0, wall: 0 };
        const clock = new LeaseClock({
          ...systemRuntime,
          monotonic: () => shown.monotonic,
          wall: () => shown.wall,
        });
        let passed = 0;
        let last = 0;
        let readings = 0;
        const read = (): void => {
          const now = clock.now();
          readings += 1;
          // A suspension of a millisecond may be the resolution of the wall clock.
          expect(now).toBeGreaterThanOrEqual(Math.max(last, passed - readings));
          last = now;
        };
        for (const [what, duration] of happenings) {
          if (what === "passes" || what === "suspends") {
            passed += duration;
            shown.wall += duration;
            if (what === "passes") shown.monotonic += duration;
          } else read();
          if (what !== "steps") continue;
          shown.wall += duration - 2500;
          read();
        }
        read();
      }),
    );
  });
});

type Event = (readings: Readings) => void;

const nothing: Event = () => {};

const pause: Event = (readings) => {
  readings.monotonic += 500;
  readings.wall += 500;
};

const pauseAndStepBack: Event = (readings) => {
  readings.monotonic += 500;
};

const suspension: Event = (readings) => {
  readings.wall += 500;
};

/** A clock on a machine with an event before each reading, in order: the first two readings are the constructor's. */
function clockAmid(...events: readonly Event[]): LeaseClock {
  const readings = { monotonic: 0, wall: 0 };
  const coming = [...events];
  const read = (name: keyof Readings) => () => {
    coming.shift()?.(readings);
    return readings[name];
  };
  return new LeaseClock({ ...systemRuntime, monotonic: read("monotonic"), wall: read("wall") });
}

function amid(event: Event, place: number): readonly Event[] {
  return [0, 1, 2, 3, 4].map((index) => (index === place ? event : nothing));
}

describe("stopped before one of the readings of a look, the lease clock", () => {
  const places = [2, 3, 4];

  test.each(places)("counts a pause that is hidden by a step back: reading %i", (place) => {
    expect(clockAmid(...amid(pauseAndStepBack, place)).now()).toBeGreaterThanOrEqual(500);
  });

  test("counts a suspension and a pause", () => {
    expect(clockAmid(nothing, nothing, suspension, nothing, pause).now()).toBeGreaterThanOrEqual(1000);
  });

  test.each(places)("counts a suspension as long as the pause before: reading %i", (place) => {
    const clock = clockAmid(...amid(pause, place), suspension);
    expect(clock.now()).toBeGreaterThanOrEqual(500);
    expect(clock.now()).toBeGreaterThanOrEqual(1000);
  });
});
