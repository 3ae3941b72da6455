import { describe, expect, test } from "vitest";
import { claimedTimeIn, countIn, digitsIn, epochIn, timeIn, timeLeftIn } from "./reply-numbers.ts";

// PROTOCOL 1.7, 2.12, 13.3.

const forEver = Number.POSITIVE_INFINITY;

describe("the remaining time of a granted claim", () => {
  test.each([
    ["the ttl", 1000, 1000, 1000],
    ["none, for a key without an expiry", -1, 1000, forEver],
    ["less than the ttl, which is no answer", 999, 1000, undefined],
    ["a fraction, which is no answer", 1000.5, 1000, undefined],
    ["text, which is no answer", "1000", 1000, undefined],
    ["beyond 2^53, which is no answer", 2 ** 54, 1000, undefined],
    ["1 ms less than a ttl above 2^52", 2 ** 52 + 1, 2 ** 52 + 2, 2 ** 52 + 1],
    ["2 ms less than a ttl above 2^52, which is no answer", 2 ** 52, 2 ** 52 + 2, undefined],
    ["1 ms less than a ttl of 2^52, which is no answer", 2 ** 52 - 1, 2 ** 52, undefined],
  ])("is %s", (_, reply, ttl, expected) => {
    expect(claimedTimeIn(reply, ttl)).toBe(expected);
  });
});

test.each([
  [-2, 0],
  [-1, forEver],
  [5, 5],
  [-3, undefined],
  [2 ** 63, 2 ** 63],
  [2 ** 64, undefined],
  ["5", undefined],
])("a PTTL of %s is %s ms", (reply, expected) => {
  expect(timeLeftIn(reply)).toBe(expected);
});

test.each([
  [0, 0],
  [7, 7],
  [8, undefined],
  [-1, undefined],
])("a count of %s, of 7 at most, is %s", (reply, expected) => {
  expect(countIn(reply, 7)).toBe(expected);
});

test.each([
  ["0", 0],
  ["9007199254740991", 9007199254740991],
  ["9007199254740992", undefined],
  ["-1", undefined],
  ["", undefined],
  [1, undefined],
])("the counter %s is %s", (reply, expected) => {
  expect(digitsIn(reply)).toBe(expected);
});

test.each([
  ["", ""],
  ["1234567890123456", "1234567890123456"],
  ["12345678901234567", undefined],
  [0, undefined],
])("the epoch %s is %s", (reply, expected) => {
  expect(epochIn(reply)).toBe(expected);
});

test.each([
  [["1700000000", "123456"], 1_700_000_000_123.456],
  [["1700000000", "999999"], 1_700_000_000_999.999],
  [["1700000000", "1000000"], undefined],
  [["9007199254741", "0"], undefined],
  [["1", "2", "3"], undefined],
  ["1700000000", undefined],
])("a TIME of %j is %s ms", (reply, expected) => {
  expect(timeIn(reply)).toBe(expected);
});
