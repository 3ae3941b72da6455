import { afterEach, expect, test, vi } from "vitest";
import { Tokens } from "../protocol/token.ts";
import { systemRuntime } from "./system.ts";

// PROTOCOL 2.1.

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** Its tag is drawn: the two copies have it in common. */
const tokens = new Tokens(systemRuntime);
tokens.next();

function tokenAt(wall: number, monotonic: number): string {
  vi.spyOn(Date, "now").mockReturnValue(wall);
  vi.spyOn(performance, "now").mockReturnValue(monotonic);
  return tokens.next();
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
  const drawn = Array.from({ length: 5000 }, () => tokens.next());
  expect(new Set(drawn).size).toBe(drawn.length);
});

test("two copies of a machine, with the state of the generator, draw different tokens", () => {
  vi.spyOn(crypto, "getRandomValues").mockImplementation((array) => {
    (array as Uint8Array).fill(7);
    return array;
  });
  const drawn = [tokenAt(100, 12.345678), tokenAt(200, 12.345678), tokenAt(100, 12.345679)];
  expect(new Set(drawn).size).toBe(3);
  expect(drawn.map((token) => token.slice(0, 8))).toEqual(Array(3).fill(tokens.tag));
});
