import { describe, expect, test } from "vitest";
import { Random } from "../random.ts";
import { Engine } from "./engine.ts";
import { Kernel } from "./kernel.ts";
import { Process, type ProcessOptions } from "./process.ts";

const ms = 1000;

function setting(options: Partial<ProcessOptions> = {}) {
  const kernel = new Kernel(new Engine());
  const seen: string[] = [];
  const make = (name: string): Process =>
    new Process(kernel, {
      name,
      isAsynchronous: true,
      wall: 1_000_000,
      rate: 0,
      random: new Random(1, name),
      timerLateness: 0,
      ...options,
    });
  const process = make("a");
  const say = (what: string) => () => void seen.push(`${what} ${Number(process.monotonic().toFixed(6))}`);
  const arrive = (what: string, at: number) =>
    kernel.engine.schedule(() => process.deliver(say(what)), at * ms);
  const at = (time: number, act: () => void) => kernel.engine.schedule(act, time * ms);
  return { kernel, process, seen, say, arrive, at, make, run: (until = 1000) => kernel.run(until * ms) };
}

describe("the turns of a process", () => {
  test("every continuation of an event runs before the next event, however long the chain", async () => {
    const { kernel, process, seen, run } = setting();
    const chain = async () => {
      for (let link = 0; link < 1000; link += 1) await Promise.resolve();
      seen.push(`end of the chain at ${kernel.now}`);
    };
    process.setTimer(() => void chain(), 10);
    process.setTimer(() => seen.push(`next at ${kernel.now}`), 10);
    await run();
    expect(seen).toEqual(["end of the chain at 10000", "next at 10000"]);
  });

  test("the running process is known, also in continuations", async () => {
    const { kernel, process, make, run } = setting();
    const other = make("b");
    const running: unknown[] = [];
    const look = async () => {
      await Promise.resolve();
      running.push(kernel.running);
    };
    process.setTimer(() => void look(), 1);
    other.setTimer(() => void look(), 1);
    await run();
    expect(running).toEqual([process, other]);
  });

  test("an error in an event ends the run with it", async () => {
    const { process, run } = setting();
    process.setTimer(() => {
      throw new Error("broken");
    }, 1);
    await expect(run()).rejects.toThrow("broken");
  });
});

describe("the timers of a process", () => {
  test("take whole milliseconds, at least one, and truncate as setTimeout does", async () => {
    const { process, seen, say, run } = setting();
    for (const delay of [0, 1.9, 2]) process.setTimer(say(`${delay} at`), delay);
    await run();
    expect(seen).toEqual(["0 at 1", "1.9 at 1", "2 at 2"]);
  });

  test("run by the local clock, also when its rate changes on the way", async () => {
    const { kernel, process, seen, at, run } = setting();
    process.setTimer(() => seen.push(`fired at ${kernel.now}`), 100);
    at(50, () => process.setRate(1_000_000));
    await run();
    expect(seen).toEqual(["fired at 75000"]);
  });

  test("may be longer than a fake timer allows, and may be cancelled", async () => {
    const { kernel, process, run } = setting();
    let fired = 0;
    process.setTimer(() => (fired = kernel.now), 3_000_000);
    process.setTimer(() => (fired = -1), 5).cancel();
    await run(3_500_000);
    expect(fired).toBe(3_000_000 * ms);
  });

  test("due at the same time, they fire in the order of setting, also when others were cancelled and the rate changes", async () => {
    const { process, seen, at, run } = setting();
    const cancelled = process.setTimer(() => {}, 10);
    for (const name of ["a", "b", "c"]) process.setTimer(() => seen.push(name), 20);
    at(5, () => cancelled.cancel());
    at(6, () => process.setRate(1000));
    await run();
    expect(seen).toEqual(["a", "b", "c"]);
  });

  test("a suspended machine's timers wait for as long as it slept", async () => {
    const { kernel, process, seen, at, run } = setting();
    process.setTimer(() => seen.push(`fired at ${kernel.now}`), 100);
    at(40, () => process.suspend(500 * ms));
    await run();
    expect(seen).toEqual(["fired at 600000"]);
    expect([process.monotonic(), process.wall()]).toEqual([500, 1_001_000]);
  });
});

describe("pauses", () => {
  test("a frozen process runs nothing; afterwards come timers, then messages, each in order", async () => {
    const { kernel, process, seen, say, arrive, at, run } = setting();
    at(10, () => process.freeze(100 * ms));
    arrive("first delivery at", 20);
    process.setTimer(say("timer at"), 30);
    arrive("second delivery at", 40);
    kernel.engine.schedule(() => process.deliver(say("late delivery at")), 110 * ms + 2);
    await run();
    expect(seen).toEqual([
      "timer at 110.001",
      "first delivery at 110.002",
      "second delivery at 110.003",
      "late delivery at 110.004",
    ]);
  });

  test("a timer that is cancelled by an earlier callback after the pause does not fire", async () => {
    const { process, seen, at, run } = setting();
    process.setTimer(() => second.cancel(), 20);
    const second = process.setTimer(() => seen.push("fired"), 30);
    at(10, () => process.freeze(100 * ms));
    await run();
    expect(seen).toEqual([]);
  });

  test("a stall shifts the rest of the turn, continuations too, and then everything else", async () => {
    const { process, seen, say, arrive, run } = setting();
    const turn = async () => {
      say("before")();
      process.stall(50 * ms);
      say("after")();
      await Promise.resolve();
      say("continued")();
      process.setTimer(say("new timer"), 5);
    };
    process.setTimer(() => void turn(), 10);
    arrive("delivery", 20);
    await run();
    expect(seen).toEqual(["before 10", "after 60", "continued 60", "delivery 60.001", "new timer 65"]);
  });

  test("a stall at a clock reading is seen by that very reading", async () => {
    const { process, seen, run } = setting();
    let armed = true;
    process.onClockRead = () => {
      if (armed) process.stall(7 * ms);
      armed = false;
    };
    process.setTimer(() => seen.push(`${process.monotonic()} ${process.monotonic()}`), 10);
    await run();
    expect(seen).toEqual(["17 17"]);
  });

  test("the longer of two pauses counts, and the dead stay silent", async () => {
    const { process, seen, say, arrive, at, run } = setting();
    at(10, () => process.freeze(100 * ms));
    at(20, () => process.freeze(10 * ms));
    arrive("delivery", 15);
    process.setTimer(say("never"), 300);
    arrive("never", 250);
    at(200, () => process.kill());
    await run();
    expect(seen).toEqual(["delivery 110.001"]);
  });
});
