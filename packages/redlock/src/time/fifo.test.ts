import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Fifo } from "./fifo.ts";

test("a FIFO returns its items in their order, with any calls in between", () => {
  const steps = fc.array(fc.oneof(fc.integer(), fc.constant("shift"), fc.constant("filter")), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (all) => {
      let fifo = new Fifo<number>();
      let model: number[] = [];
      for (const step of all) {
        if (typeof step === "number") {
          fifo.push(step);
          model.push(step);
        } else if (step === "shift") expect(fifo.shift()).toBe(model.shift());
        else {
          fifo = fifo.filter((item) => item % 3 !== 0);
          model = model.filter((item) => item % 3 !== 0);
        }
        expect(fifo.length).toBe(model.length);
      }
      expect([...fifo]).toEqual(model);
      expect(fifo.drain()).toEqual(model);
      expect(fifo.length).toBe(0);
    }),
  );
});
