import { expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { Slots } from "./semaphore-slots.ts";

test("slots that were released are tried first, the others in the order that they had", () => {
  const slots = new Slots("s", 6, new VirtualMachine(new VirtualTime()));
  const before = slots.take(6, new Set())!;
  const released = [before[4]!, before[2]!];
  slots.prefer(released);
  const others = before.filter((slot) => !released.includes(slot));
  expect(slots.take(6, new Set())).toEqual([...released, ...others]);
  expect(slots.take(1, new Set(released))).toEqual([others[0]]);
});

test("half of 50,000 slots are preferred in linear time", () => {
  const slots = new Slots("s", 50_000, new VirtualMachine(new VirtualTime()));
  const half = slots.take(25_000, new Set())!;
  const begun = performance.now();
  slots.prefer(half);
  // Some 10 ms. Each slot compared with all others takes 5 s and more.
  expect(performance.now() - begun).toBeLessThan(2000);
  expect(slots.take(25_000, new Set())).toEqual(half);
});
