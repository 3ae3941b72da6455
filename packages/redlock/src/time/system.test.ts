import { afterEach, expect, test, vi } from "vitest";
import { newToken } from "../protocol/token.ts";
import { systemRuntime } from "./system.ts";

// PROTOCOL 2.1.

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

function tokenAt(wall: number, monotonic: number): string {
  vi.spyOn(Date, "now").mockReturnValue(wall);
  vi.spyOn(performance, "now").mockReturnValue(monotonic);
  return newToken(systemRuntime);
}

test("bytes drawn ahead are not used later", () => {
  let now = 1_700_000_000_000;
  vi.spyOn(Date, "now").mockImplementation(() => now);
  const draw = vi.spyOn(crypto, "getRandomValues");
  systemRuntime.randomBytes(16);
  systemRuntime.randomBytes(16);
  expect(draw).toHaveBeenCalledTimes(1);
  now += 10;
  systemRuntime.randomBytes(16);
  expect(draw).toHaveBeenCalledTimes(2);
  // A clock that is set back does not make old bytes fresh.
  now -= 1;
  systemRuntime.randomBytes(16);
  expect(draw).toHaveBeenCalledTimes(3);
});

test("randomBytes returns the requested number of bytes, and no byte twice", () => {
  vi.spyOn(Date, "now").mockReturnValue(1_700_000_000_001);
  const lengths = [16, 4, 6, 16, 300, 16, 250, 1];
  expect(lengths.map((length) => systemRuntime.randomBytes(length).length)).toEqual(lengths);
  const tokens = Array.from({ length: 5000 }, () => newToken(systemRuntime));
  expect(new Set(tokens).size).toBe(tokens.length);
});

test("two copies of a machine, with the state of the generator, draw different tokens", () => {
  vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
    (array as Uint8Array).fill(7);
    return array;
  });
  const tokens = [tokenAt(100, 12.345678), tokenAt(200, 12.345678), tokenAt(100, 12.345679)];
  expect(new Set(tokens).size).toBe(3);
});
