import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Seats } from "./seats.ts";

test("who finds no room gets it when it is given back, whoever asked first and fits", async () => {
  const seats = new Seats(2);
  const giveBack = await seats.take([0]);
  await seats.take([1]);
  const order: number[] = [];
  const waiting = [2, 0].map(async (seat) => {
    await seats.take([seat]);
    order.push(seat);
  });
  giveBack();
  await waiting[0];
  expect(order).toEqual([2]);
  expect([...seats.taken]).toEqual([1, 2]);
});

test("never more than there is room for, and never one twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ wanted: fc.subarray([0, 1, 2, 3, 4], { maxLength: 2 }), gives: fc.boolean() })),
      async (steps) => {
        const seats = new Seats(2);
        const taken: Array<{ wanted: readonly number[]; giveBack: () => void }> = [];
        for (const { wanted, gives } of steps) {
          void seats.take(wanted).then((giveBack) => taken.push({ wanted, giveBack }));
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

test("more than there are at all is a mistake", async () => {
  await expect(new Seats(2).take([0, 1, 2])).rejects.toThrow(RangeError);
});
