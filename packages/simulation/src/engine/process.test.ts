import { describe, expect, test } from "vitest";
import { Random } from "../random.ts";
import { Engine } from "./engine.ts";
import { Kernel } from "./kernel.ts";
import { Process } from "./process.ts";

const ms = 1000;

function setting() {
  const kernel = new Kernel(new Engine());
  const seen: string[] = [];
  const process = new Process(kernel, {
    name: "a",
    isAsynchronous: true,
    wall: 1_000_000,
    rate: 0,
    random: new Random(1, "a"),
    timerLateness: 0,
  });
  const say = (what: string) => () => void seen.push(`${what} ${Number(process.monotonic().toFixed(6))}`);
  const arrive = (what: string, at: number) =>
    kernel.engine.schedule(() => process.deliver(say(what)), at * ms);
  const at = (time: number, act: () => void) => kernel.engine.schedule(act, time * ms);
  return { kernel, process, seen, say, arrive, at, run: (until = 1000) => kernel.run(until * ms) };
}

describe("the timers of a process", () => {
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
