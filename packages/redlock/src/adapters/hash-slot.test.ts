import calculateSlot from "cluster-key-slot";
import { assert, constantFrom, property, string, tuple } from "fast-check";
import { describe, expect, test } from "vitest";
import { hashSlot } from "./hash-slot.ts";

describe("the hash slot of a key", () => {
  test("is CRC16 (XMODEM), by the check value of that code", () => {
    expect(hashSlot("123456789")).toBe(0x31c3);
  });

  test.each([
    ["{tag}a", "{tag}b", true],
    ["a{tag}", "b{tag}c", true],
    ["{}a", "{}b", false],
    ["{a", "{b", false],
    ["{a}{b}", "{a}{c}", true],
  ])("of %s and %s is the same: %s", (one, other, same) => {
    expect(hashSlot(one) === hashSlot(other)).toBe(same);
  });

  test("is what ioredis routes by, for any key without an empty hash tag", () => {
    // (With one the server hashes the whole key, and the package that ioredis uses looks for a later bracket.)
    // (All of Unicode as a unit would take fast-check seconds to build.)
    const unit = constantFrom("a", "{", "}", " ", "\0", "ß", "ж", "語", "😀");
    const key = tuple(string({ unit }), constantFrom("", "{", "}"), string())
      .map(([tag, bracket, rest]) => `${rest}{${tag}}${bracket}${rest}`)
      .filter((name) => !name.includes("{}"));
    assert(property(key, (name) => hashSlot(name) === calculateSlot(name)));
    assert(property(string(), (name) => name.includes("{}") || hashSlot(name) === calculateSlot(name)));
  });
});
