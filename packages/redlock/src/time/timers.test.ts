import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { LeaseClock } from "./lease-clock.ts";
import { maxTimerDelay } from "./runtime.ts";
import { Timers } from "./timers.ts";

/** Timers on a separate machine, and a record of each call and its time. */
function setting() {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const clock: LeaseClock = new LeaseClock(machine, () => timers.clockJumped());
  const timers: Timers = new Timers(machine, clock);
  const done: string[] = [];
  const at = (due: number, name = `due at ${due}`) =>
    timers.add(due, { onDue: () => void done.push(`${name}, done at ${machine.now()}`) });
  return { time, machine, clock, timers, done, at };
}

describe("the timers", () => {
  test("call tasks beyond the longest timer as well", async () => {
    const { time, done, at } = setting();
    at(maxTimerDelay * 2.5, "late");
    await time.advance(maxTimerDelay * 2.5 - 1);
    expect(done).toEqual([]);
    await time.advance(2);
    expect(done).toHaveLength(1);
  });

  test("call the other tasks even if one throws", async () => {
    const { time, machine, timers, done, at } = setting();
    machine.uncaught = [];
    timers.add(10, {
      onDue: () => {
        throw new Error("oops");
      },
    });
    for (const due of [10, 11, 50]) at(due);
    await time.advance(100);
    expect(machine.uncaught).toEqual([new Error("oops")]);
    expect(done).toHaveLength(3);
    expect(done.at(-1)).toBe("due at 50, done at 50");
  });
});

describe("the timer", () => {
  test("is set again after a clock jump: tasks made overdue by a suspension are called at once", async () => {
    const { time, machine, clock, done, at } = setting();
    at(1000, "a");
    at(5000, "b");
    machine.suspend(900);
    clock.now();
    expect(machine.timers.size).toBe(1);
    await time.advance(200);
    // A jump is counted at most a millisecond too long.
    expect(done).toEqual([expect.stringMatching(/^a, done at (999|1000)$/)]);
    machine.suspend(10_000);
    clock.now();
    await time.advance(1);
    expect(done).toHaveLength(2);
    expect(machine.timers.size).toBe(0);
  });
});

describe("deferrable tasks", () => {
  test("are called some in each turn, in the order of their due times; a deadline does not wait behind them", async () => {
    const { time, machine, timers, done, at } = setting();
    const begun: number[] = [];
    for (let index = 0; index < 300; index += 1) {
      timers.add(index / 1000 - 10, { mayWait: true, onDue: () => void begun.push(index) });
    }
    at(-5);
    await time.advance(1);
    expect([begun.length, timers.waiting]).toEqual([128, 172]);
    expect(done).toEqual(["due at -5, done at 1"]);
    await time.advance(1);
    expect([begun.length, timers.waiting]).toEqual([256, 44]);
    await time.advance(1);
    expect(begun).toEqual(Array.from({ length: 300 }, (_, index) => index));
    expect([timers.waiting, machine.timers.size]).toEqual([0, 0]);
  });
});

test("a million cancelled tasks leave nothing behind, even among active ones", () => {
  const { timers, at } = setting();
  const standing = Array.from({ length: 10 }, (_, index) => at(60_000 + index));
  let longest = 0;
  for (let count = 0; count < 1_000_000; count += 1) {
    timers.cancel(timers.add(30_000 + (count % 1000), { onDue: () => {} }));
    longest = Math.max(longest, timers.size);
  }
  expect(longest).toBeLessThanOrEqual(2 * standing.length + 1);
});

test("for all additions and cancellations, the remaining tasks are called in time and in order", async () => {
  const action = fc.record({ due: fc.integer({ min: 1, max: 200 }), cancels: fc.option(fc.nat(30)) });
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 40 }), fc.nat(60), async (actions, pause) => {
      const { time, machine, timers } = setting();
      const done: Array<{ due: number; at: number }> = [];
      const standing: Array<{ due: number; timerHandle: ReturnType<Timers["add"]> }> = [];
      const expected = new Set<number>();
      for (const [index, { due: delay, cancels }] of actions.entries()) {
        if (index === actions.length / 2) await time.advance(pause);
        const due = time.now() + delay;
        const timerHandle = timers.add(due, { onDue: () => void done.push({ due, at: time.now() }) });
        standing.push({ due, timerHandle });
        expected.add(index);
        if (cancels === null || cancels >= standing.length) continue;
        if (standing[cancels]!.timerHandle.task) expected.delete(cancels);
        timers.cancel(standing[cancels]!.timerHandle);
      }
      await time.advance(300);
      const dues = [...expected].map((index) => standing[index]!.due).sort((one, other) => one - other);
      expect(done.map(({ due }) => due)).toEqual(dues);
      for (const { due, at } of done) expect(at).toBe(due);
      expect([machine.timers.size, timers.size]).toEqual([0, 0]);
    }),
    { numRuns: 200 },
  );
});
