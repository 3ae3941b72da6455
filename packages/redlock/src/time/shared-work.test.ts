import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { Latch } from "./cancellation.ts";
import { SharedWork } from "./shared-work.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

function setting() {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const done = new Latch();
  return { time, machine, work: new SharedWork(machine, done), finish: () => done.end() };
}

/** Whether a promise is collected. A dereferenced weak reference keeps its target until the turn is over. */
async function isCollected(kept: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < 20; round += 1) {
    await turn();
    collect();
    await turn();
    if (!kept.deref()) return true;
  }
  return false;
}

test("each wait ends with the work, or at its own limit from the beginning of the work", async () => {
  const { time, machine, work, finish } = setting();
  const ended: number[] = [];
  for (const limit of [10, 10, 20, 30]) void work.within(limit).then(() => ended.push(limit));
  await time.advance(25);
  expect(ended).toEqual([10, 10, 20]);
  // Its time is over: it waits for nothing.
  await work.within(25);
  finish();
  await time.advance(0);
  expect(ended).toEqual([10, 10, 20, 30]);
  expect(machine.timers.size).toBe(0);
});

test("waits of one limit share a timer, and callers with other limits have others", () => {
  const { machine, work } = setting();
  for (const limit of [10, 20, 10, 20]) void work.within(limit);
  expect(machine.timers.size).toBe(2);
});

test.each(["while the work goes on", "after the work"])(
  "no wait that is over stays in memory: %s",
  async (when) => {
    const { time, work, finish } = setting();
    const waited = new WeakRef(work.within(10));
    if (when === "after the work") finish();
    await time.advance(10);
    const late = new WeakRef(work.within(10.5));
    await time.advance(10);
    expect([await isCollected(waited), await isCollected(late)]).toEqual([true, true]);
    expect(work).toBeDefined();
  },
);
