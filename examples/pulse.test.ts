import { expect, test } from "vitest";
import { Pulse } from "./stage/pulse.ts";

test("a process that beats in time has not stood still", () => {
  const pulse = new Pulse(100);
  for (let at = 105; at <= 200; at += 5) pulse.beat(at);
  expect(pulse.standstill(212)).toBeUndefined();
});

test("a standstill is known before the first beat after it, and for a moment after that beat", () => {
  const pulse = new Pulse(100);
  expect(pulse.standstill(700)).toBe(100);
  pulse.beat(705);
  expect(pulse.standstill(710)).toBe(100);
  for (let at = 715; at <= 730; at += 5) pulse.beat(at);
  expect(pulse.standstill(731)).toBeUndefined();
});
