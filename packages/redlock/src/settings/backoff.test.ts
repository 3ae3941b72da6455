import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { InvalidArgumentError } from "../errors.ts";
import { systemRuntime } from "../time/system.ts";
import { exponentialBackoff, fixedBackoff, pauseBetween } from "./backoff.ts";
import { shown } from "./ranges.ts";
import type { Backoff } from "./settings.ts";
import { defaultSettings } from "./settings.ts";

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const duration = fc.nat(1e6);

describe("the fixed backoff", () => {
  test("stays within the jitter of the delay, and is never negative", () => {
    fc.assert(
      fc.property(duration, duration, random, fc.integer({ min: 1 }), (delay, jitter, random, attempt) => {
        const wait = fixedBackoff(delay, jitter)({ attempt, random });
        expect(wait).toBeGreaterThanOrEqual(Math.max(0, delay - jitter));
        expect(wait).toBeLessThanOrEqual(delay + jitter);
      }),
    );
  });

  test("uses the whole of the jitter, both ways", () => {
    const backoff = fixedBackoff(200, 100);
    expect(backoff({ attempt: 1, random: 0 })).toBe(100);
    expect(backoff({ attempt: 1, random: 0.5 })).toBe(200);
    expect(backoff({ attempt: 1, random: 0.999 })).toBeCloseTo(299.8, 6);
    expect(fixedBackoff(200)({ attempt: 1, random: 0.999 })).toBe(200);
  });
});

describe("the exponential backoff", () => {
  test("stays below a bound that doubles up to the maximum", () => {
    const backoff = exponentialBackoff();
    const bounds = [1, 2, 3, 7, 8, 100].map((attempt) => backoff({ attempt, random: 1 }));
    expect(bounds).toEqual([10, 20, 40, 640, 1000, 1000]);
    expect(backoff({ attempt: 3, random: 0.25 })).toBe(10);
  });

  test("is never negative and never above the maximum, even after very many attempts", () => {
    const options = fc.record({
      initial: fc.nat(10_000),
      maximum: duration,
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
    });
    fc.assert(
      fc.property(options, random, fc.integer({ min: 1, max: 1e9 }), (options, random, attempt) => {
        const wait = exponentialBackoff(options)({ attempt, random });
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(options.maximum);
      }),
    );
  });

  test("that begins with 0 is 0, even after very many attempts", () => {
    const backoff = exponentialBackoff({ initial: 0 });
    expect([1, 2, 1025, 1e9].map((attempt) => backoff({ attempt, random: 0.5 }))).toEqual([0, 0, 0, 0]);
  });
});

describe("the pause between two attempts", () => {
  const runtime = { ...systemRuntime, randomBytes: () => new Uint8Array([128, 0, 0, 0]) };

  test("follows retryDelay and retryJitter, or the backoff", () => {
    expect(pauseBetween(defaultSettings, runtime, 1)).toBe(200);
    const backoff = vi.fn<Backoff>(() => 30.5);
    expect(pauseBetween({ ...defaultSettings, backoff }, runtime, 3)).toBe(30.5);
    expect(backoff.mock.calls).toEqual([[{ attempt: 3, random: 0.5 }]]);
  });

  test.each([-1, Number.NaN, "5", undefined, 5n])("that a backoff returns as %s is refused", (pause) => {
    const settings = { ...defaultSettings, backoff: () => pause as number };
    expect(() => pauseBetween(settings, runtime, 1)).toThrow(InvalidArgumentError);
    expect(() => pauseBetween(settings, runtime, 1)).toThrow(
      `backoff must return milliseconds, 0 or more, but returned ${shown(pause)}`,
    );
  });

  test("may be infinite or 0: an infinite one is the longest retryDelay", () => {
    const pauses = [0, Number.POSITIVE_INFINITY].map((pause) =>
      pauseBetween({ ...defaultSettings, backoff: () => pause }, runtime, 1),
    );
    expect(pauses).toEqual([0, Number.MAX_SAFE_INTEGER]);
  });
});
