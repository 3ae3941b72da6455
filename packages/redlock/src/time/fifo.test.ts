import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Fifo } from "./fifo.ts";

test("a FIFO returns its items in their order, with any calls in between", () => {
  const steps = fc.array(fc.oneof(fc.integer(), fc.constant("shift"), fc.constant("remove")), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(steps, (all) => {
      const fifo = new Fifo<{ readonly value: number }>();
      let model: Array<{ readonly value: number }> = [];
      for (const step of all) {
        if (typeof step === "number") {
          const item = { value: step };
          fifo.push(item);
          model.push(item);
        } else if (step === "shift") expect(fifo.shift()).toBe(model.shift());
        else {
          for (const item of model) if (item.value % 3 === 0) fifo.remove(item);
          model = model.filter(({ value }) => value % 3 !== 0);
        }
        expect(fifo.length).toBe(model.length);
      }
      expect([...fifo]).toEqual(model);
      expect(fifo.drain()).toEqual(model);
      expect(fifo.length).toBe(0);
    }),
  );
});
