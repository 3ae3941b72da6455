import * as fc from "fast-check";
import { expect, test } from "vitest";
import { Fifo } from "./fifo.ts";

test("a FIFO returns its items in their order, with any calls in between", () => {
  const steps = fc.array(fc.oneof(fc.integer(), fc.constantFrom("shift", "remove even", "remove thirds")), {
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
          const by = step === "remove even" ? 2 : 3;
          const seen: unknown[] = [];
          for (const item of fifo) {
            seen.push(item);
            if (item.value % by === 0) fifo.remove(item);
          }
          expect(seen).toEqual(model);
          model = model.filter(({ value }) => value % by !== 0);
        }
        expect(fifo.length).toBe(model.length);
      }
      expect([...fifo]).toEqual(model);
      expect(fifo.drain()).toEqual(model);
      expect(fifo.length).toBe(0);
    }),
  );
});
