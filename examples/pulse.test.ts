import { expect, test } from "vitest";
import { Pulse } from "./fixture/pulse.ts";

test("a process with regular beats has no standstill", () => {
  const pulse = new Pulse(100);
  for (let at = 105; at <= 200; at += 5) pulse.beat(at);
  expect(pulse.standstill(212)).toBeUndefined();
});

test("a standstill is reported before the first beat after it, and shortly after that beat", () => {
  const pulse = new Pulse(100);
  expect(pulse.standstill(700)).toBe(100);
  pulse.beat(705);
  expect(pulse.standstill(710)).toBe(100);
  for (let at = 715; at <= 730; at += 5) pulse.beat(at);
  expect(pulse.standstill(731)).toBeUndefined();
});
