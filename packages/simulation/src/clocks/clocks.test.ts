import { describe, expect, test } from "vitest";
import { Clocks } from "./clocks.ts";

// True time is in us, readings in ms. Every case has an answer that can be worked out by hand.
const second = 1_000_000;
const epoch = 1_700_000_000_000;
const clocks = (rate = 0) => new Clocks({ wall: epoch, rate });

describe("the clocks of a process", () => {
  test("an ideal one shows true time, and its wall clock an offset to it", () => {
    const ideal = clocks();
    expect([ideal.monotonicAt(0), ideal.wallAt(0)]).toEqual([0, epoch]);
    expect([ideal.monotonicAt(90 * second), ideal.wallAt(90 * second)]).toEqual([90_000, epoch + 90_000]);
  });

  test("+10,000 ppm gains 10 ms a second, on both", () => {
    const fast = clocks(10_000);
    expect(fast.monotonicAt(second)).toBeCloseTo(1010, 9);
    expect(fast.wallAt(second)).toBeCloseTo(epoch + 1010, 3);
  });

  test("a change of rate does not make the clock jump", () => {
    const bent = clocks(-500_000);
    bent.setRate(2 * second, 1_000_000);
    expect(bent.monotonicAt(2 * second)).toBeCloseTo(1000, 9);
    expect(bent.monotonicAt(3 * second)).toBeCloseTo(3000, 9);
    expect(bent.wallAt(3 * second)).toBeCloseTo(epoch + 3000, 3);
  });

  test("a step moves only the wall clock, in either direction, by the given time", () => {
    const stepped = clocks();
    stepped.stepWall(-5000);
    expect([stepped.monotonicAt(second), stepped.wallAt(second)]).toEqual([1000, epoch - 4000]);
    stepped.stepWall(20_000);
    expect(stepped.wallAt(2 * second)).toBe(epoch + 17_000);
  });

  test("a suspended machine's monotonic clock stands still, and its wall clock does not", () => {
    const machine = clocks();
    machine.suspend(second);
    expect([machine.monotonicAt(5 * second), machine.wallAt(5 * second)]).toEqual([1000, epoch + 5000]);
    machine.resume(5 * second);
    expect([machine.monotonicAt(6 * second), machine.wallAt(6 * second)]).toEqual([2000, epoch + 6000]);
  });

  test("a local delay takes local / rate of true time", () => {
    const fast = clocks(250_000);
    expect(fast.untilMonotonic(0, 1000)).toBeCloseTo(800_000, 6);
    expect(fast.untilWall(0, epoch + 1000)).toBeCloseTo(800_000, 0);
    fast.setRate(400_000, -500_000);
    expect(fast.untilMonotonic(400_000, 1000)).toBeCloseTo(1_000_000, 6);
    fast.suspend(400_000);
    expect(fast.untilMonotonic(400_000, 1000)).toBe(Number.POSITIVE_INFINITY);
  });

  test("a clock that stops or runs backwards is refused", () => {
    for (const rate of [-1_000_000, -2_000_000, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => clocks(rate)).toThrow(RangeError);
    }
  });
});
