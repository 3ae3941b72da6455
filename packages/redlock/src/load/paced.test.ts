import { expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { Paced } from "./paced.ts";

test("calls the first callbacks at once, the others in later turns, in order", async () => {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const paced = new Paced(3, machine);
  const called: string[] = [];
  for (let index = 0; index < 8; index += 1) paced.call(() => called.push(`${index} at ${time.now()}`));
  expect(called).toEqual(["0 at 0", "1 at 0", "2 at 0"]);
  const turns: number[] = [];
  while (machine.timers.size > 0) {
    await time.advance(1);
    turns.push(called.length);
  }
  expect(called.map((entry) => Number.parseInt(entry, 10))).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(turns[0]).toBeLessThan(8);
  // And begins again.
  paced.call(() => called.push("more"));
  expect(called.at(-1)).toBe("more");
});
