import { describe, expect, test } from "vitest";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { Cancellation } from "./cancellation.ts";
import { sleep } from "./sleep.ts";

function bed() {
  const time = new VirtualTime();
  return { time, machine: new VirtualMachine(time), cancellation: new Cancellation() };
}

describe("a sleep", () => {
  test("lasts for its delay, and never less", async () => {
    const { time, machine, cancellation } = bed();
    expect(await time.measure(sleep(machine, 70, cancellation))).toMatchObject({ took: 70 });
    expect(await time.measure(sleep(machine, 70.2, cancellation))).toMatchObject({ took: 71 });
  });

  test("keeps the process alive, and leaves no timer behind", async () => {
    const { time, machine, cancellation } = bed();
    const sleeping = sleep(machine, 70, cancellation);
    expect(machine.referencedTimers).toBe(1);
    cancellation.cancel(new Error("enough"));
    await time.measure(sleeping);
    expect(time.now()).toBe(0);
    expect(machine.timers.size).toBe(0);
  });

  test("does not begin once cancelled", async () => {
    const { machine, cancellation } = bed();
    cancellation.cancel(new Error("enough"));
    await sleep(machine, 70, cancellation);
    expect(machine.timers.size).toBe(0);
  });

  test("too long for any timer is limited to the longest", async () => {
    const { time, machine, cancellation } = bed();
    const sleeping = sleep(machine, Number.POSITIVE_INFINITY, cancellation);
    expect(await time.measure(sleeping, 2 ** 32)).toMatchObject({ took: 2 ** 31 - 1 });
  });
});
