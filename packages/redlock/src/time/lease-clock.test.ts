import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { LeaseClock } from "./lease-clock.ts";
import { systemRuntime } from "./system.ts";

// PROTOCOL 1.4, 3.4, 3.5.

function machineAndClock() {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  return { machine, clock: new LeaseClock(machine), pass: (duration: number) => time.advance(duration) };
}

describe("the lease clock", () => {
  test("counts a suspension, which only the wall clock sees", () => {
    const { machine, clock } = machineAndClock();
    machine.suspend(60_000);
    expect(clock.now()).toBe(60_000 + 1);
  });

  test("reports a clock jump when time has passed that no timer knows of, and only then", async () => {
    const time = new VirtualTime();
    const machine = new VirtualMachine(time);
    let leaps = 0;
    const clock = new LeaseClock(machine, () => {
      leaps += 1;
    });
    await time.advance(5000);
    clock.now();
    machine.stepWall(-5000);
    clock.now();
    expect(leaps).toBe(0);
    machine.suspend(100);
    clock.now();
    clock.now();
    expect(leaps).toBe(1);
  });

  test("the resolution of the wall clock adds nothing, even over many readings", () => {
    let monotonic = 0.9;
    const system = {
      monotonic: () => monotonic,
      wall: () => Math.floor(monotonic),
      randomBytes: (count: number) => new Uint8Array(count),
      setTimer: () => ({ cancel: () => {}, unref: () => {} }),
    };
    const clock = new LeaseClock(system);
    for (; monotonic < 1000; monotonic += 0.7) clock.now();
    expect(clock.now()).toBeCloseTo(monotonic - 0.9, 6);
  });

  const happening = fc.oneof(
    fc.record({ what: fc.constant("passes" as const), duration: fc.integer({ min: 0, max: 500 }) }),
    fc.record({ what: fc.constant("suspends" as const), duration: fc.integer({ min: 0, max: 5000 }) }),
    fc.record({ what: fc.constant("steps" as const), duration: fc.integer({ min: -5000, max: 5000 }) }),
    fc.record({ what: fc.constant("is read" as const), duration: fc.constant(0) }),
  );

  test("never goes back, and counts at least the monotonic time, for all events in all orders", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 30 }), async (happenings) => {
        const { machine, clock, pass } = machineAndClock();
        let last = clock.now();
        let lastMonotonic = machine.monotonic();
        for (const { what, duration } of happenings) {
          if (what === "passes") await pass(duration);
          else if (what === "suspends") machine.suspend(duration);
          else if (what === "steps") machine.stepWall(duration);
          else {
            const now = clock.now();
            expect(now - last).toBeGreaterThanOrEqual(machine.monotonic() - lastMonotonic);
            last = now;
            lastMonotonic = machine.monotonic();
          }
        }
        expect(clock.now()).toBeGreaterThanOrEqual(last);
        expect(clock.now()).toBeGreaterThanOrEqual(machine.monotonic());
      }),
    );
  });

  test("counts all true time, suspensions included, if it is read between a suspension and a step", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(happening, { maxLength: 30 }), async (happenings) => {
        const { machine, clock, pass } = machineAndClock();
        let readings = 0;
        for (const { what, duration } of happenings) {
          if (what === "passes") await pass(duration);
          else if (what === "suspends") machine.suspend(duration);
          else if (what === "steps") {
            clock.now();
            machine.stepWall(duration);
            // A step forward counts as time that passed; a step back as nothing.
            clock.now();
            readings += 2;
          }
        }
        readings += 1;
        expect(clock.now()).toBeGreaterThanOrEqual(machine.now() - readings);
      }),
    );
  });
});

interface Readings {
  monotonic: number;
  wall: number;
}

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

/** `event` before the third, fourth or fifth reading: those of the first `now()`. */
function amidOneReading(event: Event): readonly (readonly Event[])[] {
  return [2, 3, 4].map((place) => [0, 1, 2, 3, 4].map((index) => (index === place ? event : nothing)));
}

describe("stopped between two readings, the lease clock", () => {
  test.each(amidOneReading(pause))("counts the pause: %#", (...events) => {
    expect(clockAmid(...events).now()).toBeGreaterThanOrEqual(500);
  });

  test.each(amidOneReading(pauseAndStepBack))(
    "counts a pause that is hidden by a step back: %#",
    (...events) => {
      expect(clockAmid(...events).now()).toBeGreaterThanOrEqual(500);
    },
  );

  test.each(amidOneReading(pause))("counts a suspension as long as the pause before: %#", (...events) => {
    const clock = clockAmid(...events, suspension);
    clock.now();
    expect(clock.now()).toBeGreaterThanOrEqual(1000);
  });
});
