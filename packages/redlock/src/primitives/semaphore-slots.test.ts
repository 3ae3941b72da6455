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

test("every slot is taken once, in an order that is drawn as they are taken", () => {
  const machine = new VirtualMachine(new VirtualTime());
  let drawn = 0;
  const randomBytes = machine.randomBytes.bind(machine);
  machine.randomBytes = (count) => {
    drawn += 1;
    return randomBytes(count);
  };
  const slots = new Slots("s", 10_000, machine);
  expect(drawn).toBe(0);
  const some = slots.take(3, new Set())!;
  expect(drawn).toBe(3);
  // Slots that others of this process had: they are not drawn a second time.
  slots.prefer(["{s}:slot:7", "{s}:slot:8"]);
  const all = [...some, ...slots.take(9_997, new Set())!];
  expect(new Set(all).size).toBe(10_000);
  expect([...all].sort()).toEqual([...slots.all].sort());
});

test("each slot is as likely to be the first as any other, and the second", () => {
  const places = [0, 1].map(() => new Map<string, number>());
  for (let seed = 1; seed <= 4000; seed += 1) {
    const slots = new Slots("s", 4, new VirtualMachine(new VirtualTime(), seed));
    for (const counts of places) {
      const [slot] = slots.take(1, new Set())!;
      counts.set(slot!, (counts.get(slot!) ?? 0) + 1);
    }
  }
  for (const counts of places) {
    expect(counts.size).toBe(4);
    for (const count of counts.values()) expect(count / 1000).toBeCloseTo(1, 0.5);
  }
});

test("slots that are refused keep their places, and too few are not taken", () => {
  const slots = new Slots("s", 3, new VirtualMachine(new VirtualTime()));
  const [first, second, third] = slots.take(3, new Set())!;
  slots.prefer([first!, second!]);
  expect(slots.take(2, new Set([first!, third!]))).toBeUndefined();
  expect(slots.take(3, new Set())).toEqual([first, second, third]);
});
