import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { newToken } from "../protocol/token.ts";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { maxTimerDelay, type Runtime, randomFraction } from "./runtime.ts";
import { systemRuntime } from "./system.ts";

function bytes(...given: readonly number[]): Runtime {
  return { ...systemRuntime, randomBytes: () => Uint8Array.from(given) };
}

/** Timers that keep this process alive. */
function keeping(): number {
  return process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
}

describe("a random fraction", () => {
  test("is at least 0 and below 1", () => {
    expect(randomFraction(bytes(0, 0, 0, 0))).toBe(0);
    expect(randomFraction(bytes(128, 0, 0, 0))).toBe(0.5);
    expect(randomFraction(bytes(255, 255, 255, 255))).toBe(1 - 2 ** -32);
  });

  test("uses every bit", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), (given) => {
        const integer = Buffer.from(given).readUInt32BE();
        expect(randomFraction(bytes(...given))).toBe(integer / 2 ** 32);
      }),
    );
  });
});

describe("a token", () => {
  test("is 128 random bits as 32 hexadecimal characters", () => {
    expect(newToken(bytes(...Array.from({ length: 16 }, (_, index) => index * 17)))).toBe(
      "00112233445566778899aabbccddeeff",
    );
    expect(newToken(bytes(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))).toBe(
      "000102030405060708090a0b0c0d0e0f",
    );
  });

  test("is never the same twice, from the system's randomness", () => {
    const tokens = Array.from({ length: 1000 }, () => newToken(systemRuntime));
    expect(new Set(tokens).size).toBe(1000);
    for (const token of tokens) expect(token).toMatch(/^[0-9a-f]{32}$/);
    // Each of the 32 places takes each of the 16 values.
    for (let place = 0; place < 32; place += 1) {
      expect(new Set(tokens.map((token) => token[place])).size).toBe(16);
    }
  });
});

describe("the system's runtime", () => {
  test("reads both clocks in milliseconds", async () => {
    const monotonic = systemRuntime.monotonic();
    const wall = systemRuntime.wall();
    await new Promise<void>((resolve) => systemRuntime.setTimer(resolve, 20));
    expect(systemRuntime.monotonic() - monotonic).toBeGreaterThanOrEqual(19);
    expect(systemRuntime.wall() - wall).toBeGreaterThanOrEqual(18);
    expect(Math.abs(systemRuntime.wall() - Date.now())).toBeLessThan(1000);
  });

  test("returns the requested number of random bytes, and never the same ones again", () => {
    for (const count of [1, 4, 16, 5000]) expect(systemRuntime.randomBytes(count)).toHaveLength(count);
    const kept = Array.from({ length: 600 }, () => systemRuntime.randomBytes(16));
    expect(new Set(kept.map((drawn) => Buffer.from(drawn).toString("hex"))).size).toBe(600);
  });

  test("a cancelled timer does not fire", async () => {
    let fired = false;
    const timer = systemRuntime.setTimer(() => {
      fired = true;
    }, 1);
    timer.cancel();
    await new Promise<void>((resolve) => systemRuntime.setTimer(resolve, 10));
    timer.cancel();
    expect(fired).toBe(false);
  });

  test("a timer keeps the process alive until it is unref'd", () => {
    const before = keeping();
    const timer = systemRuntime.setTimer(() => {}, 60_000);
    expect(keeping()).toBe(before + 1);
    timer.unref();
    expect(keeping()).toBe(before);
    timer.cancel();
  });

  test("supports the longest delay, and no longer one", () => {
    const warnings: unknown[] = [];
    const warn = (warning: Error) => warnings.push(warning.name);
    process.on("warning", warn);
    systemRuntime.setTimer(() => {}, maxTimerDelay).cancel();
    process.off("warning", warn);
    expect(warnings).toEqual([]);
    expect(() => new VirtualMachine(new VirtualTime()).setTimer(() => {}, maxTimerDelay + 1)).toThrow(
      RangeError,
    );
  });
});
