import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { maxTimerDelay } from "../time/runtime.ts";
import { Gate, virtualSetting } from "../virtual-time.test.ts";
import { aligned, renewalDelay } from "./renewal.ts";

// PROTOCOL 4.4.

describe("when the next renewal is due", () => {
  const ttl = fc.integer({ min: 4, max: 2 ** 40 });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const threshold = fc.nat(1e9);
  /** A ttl and what can be left of it: never more than it is. */
  const held = ttl.chain((ttl) =>
    fc.tuple(
      fc.constant(ttl),
      fc.double({ min: 0, max: 1, noNaN: true }).map((part) => part * ttl),
    ),
  );

  test("never in a hot loop and never later than a timer reaches, whatever ttl and threshold are", () => {
    fc.assert(
      fc.property(held, threshold, random, ([ttl, remaining], threshold, random) => {
        const delay = renewalDelay(ttl, remaining, threshold, random);
        expect(delay).toBeGreaterThanOrEqual(Math.min(ttl / 10, remaining / 2, maxTimerDelay));
        expect(delay).toBeLessThanOrEqual(maxTimerDelay);
      }),
      { numRuns: 300 },
    );
  });

  test("when the threshold is left, and after a third of the ttl at the latest", () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(ttl, part, part, random, (ttl, thresholdPart, restPart, random) => {
        const threshold = ((ttl * 2) / 3) * thresholdPart;
        const rest = ttl / 9 + (ttl - ttl / 9 - threshold) * restPart;
        const delay = renewalDelay(ttl, threshold + rest, threshold, random);
        const latest = Math.min(ttl / 3, rest);
        expect(delay).toBeLessThanOrEqual(latest * (1 + 1e-9));
        expect(delay).toBeGreaterThanOrEqual(
          Math.min(latest * 0.9, (threshold + rest) / 2, maxTimerDelay) * (1 - 1e-9),
        );
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    [9000, 8900, 500, 0, 3000],
    [9000, 8900, 500, 0.5, 2850],
    [1000, 800, 600, 0, 200],
    [1000, 990, 800, 0, 990 - 2000 / 3],
    [1000, 990, 980, 0, 990 - 2000 / 3],
    [1000, 750, 600, 0, 150],
    [1000, 610, 600, 0, 100],
    [1000, 50, 500, 0, 25],
    [25 * 24 * 3600 * 1000, 24 * 24 * 3600 * 1000, 500, 0, 25 * 8 * 3600 * 1000],
    [100 * 24 * 3600 * 1000, 99 * 24 * 3600 * 1000, 500, 0, maxTimerDelay],
  ])(
    "of ttl %d with %d left and threshold %d, at random %d: in %d ms",
    (ttl, remaining, threshold, random, delay) => {
      expect(renewalDelay(ttl, remaining, threshold, random)).toBeCloseTo(delay, 6);
    },
  );
});

describe("renewals that are due at nearly the same time", () => {
  const ttl = fc.integer({ min: 4, max: 2 ** 40 });
  const due = fc.double({ min: 0, max: 1e9, noNaN: true });

  test("come to the same moment: never later, and hardly earlier", () => {
    fc.assert(
      fc.property(due, ttl, (due, ttl) => {
        const moment = aligned(due, ttl);
        expect(moment).toBeLessThanOrEqual(due);
        expect(due - moment).toBeLessThan(Math.min(16, ttl / 100));
        expect(aligned(moment, ttl)).toBe(moment);
      }),
      { numRuns: 300 },
    );
  });

  test("a hundred of them, within 300 ms, have twenty moments at most", () => {
    const moments = Array.from({ length: 100 }, (_, index) => aligned(2700 + 3 * index, 9000));
    expect(new Set(moments).size).toBeLessThanOrEqual(20);
  });

  test("of locks with different ttls too: the moments of one ttl are moments of every shorter one", () => {
    fc.assert(
      fc.property(due, ttl, ttl, (due, ttl, other) => {
        const moment = aligned(due, Math.max(ttl, other));
        expect(aligned(moment, Math.min(ttl, other))).toBe(moment);
      }),
      { numRuns: 300 },
    );
  });
});

test("a hundred locks that are renewed have one timer, which keeps no process alive", async () => {
  const { time, machine, redlock } = virtualSetting(3);
  const gate = new Gate();
  const using = Array.from({ length: 100 }, (_, index) =>
    redlock.using(`r${index}`, 9000, () => gate.opened),
  );
  await time.advance(5000);
  expect([machine.timers.size, machine.referencedTimers]).toEqual([1, 0]);
  gate.open();
  await time.run(Promise.all(using));
  await time.advance(5);
  expect(machine.timers.size).toBe(0);
});
