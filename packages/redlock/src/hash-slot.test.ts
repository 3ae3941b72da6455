import { expect, test } from "vitest";
import { hashSlot } from "./hash-slot.ts";

test.each([
  // As CLUSTER KEYSLOT of redis-server 7.0.15 has them.
  ["123456789", 12_739],
  ["foo", 12_182],
  ["bar", 5061],
  ["", 0],
  ["{user1000}.following", 3443],
  ["{user1000}.followers", 3443],
  ["user1000", 3443],
  ["foo{}{bar}", 8363],
  ["foo{{bar}}zap", 4015],
  ["foo{bar}{zap}", 5061],
  ["{", 4092],
  ["a}b{c", 13_587],
  ["größe:42", 8500],
  ["ключ", 10_303],
  ["{größe}x", 9425],
])("the slot of %j is %i", (key, slot) => {
  expect(hashSlot(key)).toBe(slot);
});
