import * as fc from "fast-check";
import { expect, test } from "vitest";
import { FaultSlots } from "./fault-slots.ts";

test("a fault without a free slot waits, and gets the slot when it is freed and the request fits", async () => {
  const slots = new FaultSlots(2);
  const giveBack = await slots.take([0]);
  await slots.take([1]);
  const order: number[] = [];
  const waiting = [2, 0].map(async (slot) => {
    await slots.take([slot]);
    order.push(slot);
  });
  giveBack();
  await waiting[0];
  expect(order).toEqual([2]);
  expect([...slots.taken]).toEqual([1, 2]);
});

test("never more than the limit are taken, and none twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ wanted: fc.subarray([0, 1, 2, 3, 4], { maxLength: 2 }), gives: fc.boolean() })),
      async (steps) => {
        const slots = new FaultSlots(2);
        const taken: Array<{ wanted: readonly number[]; giveBack: () => void }> = [];
        for (const { wanted, gives } of steps) {
          void slots.take(wanted).then((giveBack) => taken.push({ wanted, giveBack }));
          await new Promise(setImmediate);
          const sitting = taken.flatMap((one) => one.wanted);
          expect(new Set(sitting).size).toBe(sitting.length);
          expect(sitting.length).toBeLessThanOrEqual(2);
          if (gives) taken.shift()?.giveBack();
        }
      },
    ),
    { numRuns: 50 },
  );
});

test("a request beyond the limit is an error", async () => {
  await expect(new FaultSlots(2).take([0, 1, 2])).rejects.toThrow(RangeError);
});
