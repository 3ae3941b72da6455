import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { defaultSettings, type Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { LeaseClock } from "../time/lease-clock.ts";
import { settle, VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { RetryBudget } from "../waiting/retry-budget.ts";
import { Admission, type Extension } from "./admission.ts";

// PROTOCOL 12.10, 12.11.

function setting(acquireConcurrency = 1000) {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const clock = new LeaseClock(machine);
  const due = { waiting: 0 };
  const leases = { size: 0 };
  const admission = new Admission(machine, clock, due, leases, acquireConcurrency);
  const budget = (settings: Partial<Settings> = {}, cancellation = new Cancellation()) =>
    new RetryBudget(
      machine,
      { ...defaultSettings, retryJitter: 0, ...settings },
      cancellation,
      machine.monotonic(),
    );
  /** Returns the number of callers that are admitted at once. */
  const enter = (): number => {
    let count = 0;
    while (admission.enter()) count += 1;
    return count;
  };
  /** Begins `count` extensions that are due now. */
  const extend = (count: number, ttl = 1000): readonly Extension[] => {
    const all = Array.from({ length: count }, () => ({ due: clock.now(), ttl }));
    for (const extension of all) admission.extensionBegan(extension);
    return all;
  };
  /** Waits for admission, as a call does. */
  const wait = (one: RetryBudget): Promise<boolean> => {
    one.startAdmissionWait(() => admission.answeredAt);
    return admission.wait(one);
  };
  return { time, machine, clock, due, leases, admission, budget, enter, extend, wait };
}

/** A setting whose extensions are late, and the number of timers that are set from now on. */
async function late() {
  const all = setting();
  const { machine, extend, time } = all;
  let count = 0;
  const setTimer = machine.setTimer.bind(machine);
  machine.setTimer = (callback, delay) => {
    count += 1;
    return setTimer(callback, delay);
  };
  const extensions = extend(128);
  await time.advance(60);
  return { ...all, extensions, timersSet: () => count };
}

/** The result of `promise`, if it has settled. */
async function outcome<T>(promise: Promise<T>): Promise<T | "pending"> {
  await settle();
  return Promise.race([promise, Promise.resolve("pending" as const)]);
}

describe("admission", () => {
  test("are given in the order of the calls, as they become free", async () => {
    const { admission, budget, enter } = setting(2);
    expect(enter()).toBe(2);
    const admitted: number[] = [];
    for (let index = 0; index < 3; index += 1) {
      void admission.wait(budget()).then(() => admitted.push(index));
    }
    await settle();
    expect(admitted).toEqual([]);
    admission.leave();
    admission.leave();
    await settle();
    expect(admitted).toEqual([0, 1]);
    // No newcomer is admitted before the waiting callers.
    expect(admission.enter()).toBe(false);
  });

  test("tens of thousands of callers may give up: some are refused in each turn, and none is kept", async () => {
    const { admission, budget, enter, time } = setting(1);
    enter();
    const cancellations = Array.from({ length: 10_000 }, () => new Cancellation());
    let told = 0;
    for (const cancellation of cancellations) {
      void admission.wait(budget({}, cancellation)).then(() => {
        told += 1;
      });
    }
    for (const cancellation of cancellations) cancellation.cancel(new Error("aborted"));
    await settle();
    expect(told).toBe(32);
    await time.advance(1000);
    expect(told).toBe(10_000);
    admission.leave();
    expect(admission.enter()).toBe(true);
  });
});

test("callers that gave up while none was admitted are not kept", async () => {
  setFlagsFromString("--expose-gc");
  const { admission, budget, enter, time } = setting(1);
  enter();
  const kept: WeakRef<object>[] = [];
  for (let count = 0; count < 2000; count += 1) {
    const cancellation = new Cancellation();
    const one = budget({}, cancellation);
    void admission.wait(one);
    kept.push(new WeakRef(one));
    cancellation.cancel(new Error("aborted"));
    if (count % 20 === 0) await time.advance(1);
  }
  await time.advance(1000);
  await new Promise((resolve) => setTimeout(resolve, 0));
  (runInNewContext("gc") as () => void)();
  expect(kept.filter((one) => one.deref()).length).toBeLessThan(100);
});

describe("concurrent rounds", () => {
  test("begin with 64, at most acquireConcurrency, and increase while each is in time", async () => {
    expect(setting(10).enter()).toBe(10);
    const { admission, enter, time } = setting(300);
    expect(enter()).toBe(64);
    for (let count = 0; count < 64; count += 1) admission.recordRound(2, 50);
    expect(admission.limit).toBe(128);
    await time.advance(50);
    admission.recordRound(40, 50);
    expect(admission.limit).toBe(64);
    for (let count = 0; count < 64; count += 1) admission.recordRound(2, 50);
    expect(admission.limit).toBe(80);
    for (let count = 0; count < 1000; count += 1) admission.recordRound(2, 50);
    expect(admission.limit).toBe(300);
  });

  test("are halved when one takes more than half of the timeout that the network leaves", async () => {
    const { admission, time } = setting();
    admission.recordRound(10, 50);
    await time.advance(50);
    admission.recordRound(29, 50);
    expect(admission.limit).toBe(66);
    admission.recordRound(31, 50);
    expect(admission.limit).toBe(33);
  });

  test("are halved once for all rounds in flight, and not below 8", async () => {
    const { admission, time } = setting();
    admission.recordRound(1, 50);
    for (let count = 0; count < 10; count += 1) admission.recordRound(40, 50);
    expect(admission.limit).toBe(32);
    for (let count = 0; count < 10; count += 1) {
      await time.advance(40);
      admission.recordRound(40, 50);
    }
    expect(admission.limit).toBe(8);
    expect(setting(3).enter()).toBe(3);
  });

  test("decrease if masters answer after the timeout", async () => {
    const { admission, time } = setting();
    await time.advance(50);
    admission.recordLateAnswer(50);
    expect(admission.limit).toBe(32);
  });

  test("increase again if the network has become slower: few rounds do not delay each other", async () => {
    const { admission, time } = setting();
    admission.recordRound(1, 50);
    for (let count = 0; count < 200; count += 1) {
      await time.advance(35);
      admission.recordRound(35, 50);
    }
    expect(admission.limit).toBeGreaterThan(8);
  });
});

describe("late extensions", () => {
  test("allow, once in time again, an eighth more leases, twice as many more for each third of the ttl, and soon any number", async () => {
    const { admission, enter, leases, extend, time } = setting();
    leases.size = 800;
    const late = extend(128, 300);
    await time.advance(20);
    for (const extension of late) admission.extensionEnded(extension, true);
    await time.advance(100);
    const caps: number[] = [];
    for (let count = 0; count < 5; count += 1) {
      // Each admitted caller is granted its lock.
      for (let entered = enter(); entered > 0; entered = enter()) {
        leases.size += entered;
        for (let left = entered; left > 0; left -= 1) admission.leave();
        if (leases.size > 9000) break;
      }
      caps.push(leases.size);
      await time.advance(100);
    }
    expect(caps.slice(0, 4)).toEqual([1028, 1413, 2248, 4624]);
    expect(caps[4]).toBeGreaterThan(9000);
  });

  test("count while they are in flight", async () => {
    const { admission, extend, time } = setting();
    extend(128);
    await time.advance(50);
    expect(admission.enter()).toBe(true);
    await time.advance(1);
    expect(admission.enter()).toBe(false);
  });

  test("count while they wait to begin", async () => {
    const { admission, due, extend, time } = setting();
    extend(28);
    await time.advance(51);
    expect(admission.enter()).toBe(true);
    due.waiting = 100;
    expect(admission.enter()).toBe(false);
  });

  test("are those later than a twentieth of the ttl, or 10 ms, plus a round trip", async () => {
    const { admission, extend, time } = setting();
    admission.recordRound(30, 500);
    extend(128, 100);
    await time.advance(40);
    expect(admission.enter()).toBe(true);
    await time.advance(1);
    expect(admission.enter()).toBe(false);
  });

  test("are ignored if they are few, or masters have failed", async () => {
    const { admission, extend, time } = setting();
    const few = extend(127);
    await time.advance(500);
    for (const extension of few) admission.extensionEnded(extension, true);
    expect(admission.enter()).toBe(true);
    const failed = extend(128);
    await time.advance(60);
    for (const extension of failed) admission.extensionEnded(extension, false);
    expect(admission.enter()).toBe(true);
  });

  test("end the wait of callers in line when their retries would be over, with the reason", async () => {
    const { wait, budget, extend, time } = setting();
    const patient = budget({ retryCount: 2, retryDelay: 100, nodeTimeout: 4 });
    const impatient = budget({ retryCount: 0 });
    const limited = budget({ waitTimeout: 150 });
    extend(128);
    await time.advance(60);
    const waits = [patient, impatient, limited].map(wait);
    await time.advance(5);
    expect(await Promise.all(waits.map(outcome))).toEqual(["pending", false, "pending"]);
    await time.advance(100);
    expect(await Promise.all(waits.map(outcome))).toEqual(["pending", false, false]);
    await time.advance(100);
    expect(await Promise.all(waits.map(outcome))).toEqual([false, false, false]);
    expect(patient.lateness).toMatchObject({ allowed: 50 });
    expect(patient.lateness!.by).toBeGreaterThan(50);
  });

  describe("need a timer", () => {
    test("only while a caller is held back that has not given up", async () => {
      const { admission, budget, machine, time, timersSet } = await late();
      const cancellation = new Cancellation();
      const waiting = admission.wait(budget({ retryCount: -1 }, cancellation));
      expect(machine.timers.size).toBe(1);
      cancellation.cancel(new Error("aborted"));
      expect(await outcome(waiting)).toBe(false);
      // The one that spreads thousands of refusals.
      await time.advance(1);
      expect(machine.timers.size).toBe(0);
      const before = timersSet();
      await time.advance(10_000);
      expect(timersSet()).toBe(before);
    });

    test("not while as many rounds run as may: a round that ends looks instead", async () => {
      const { admission, budget, enter, extend, machine, time } = setting(1);
      enter();
      const extensions = extend(128);
      const held = budget({ retryCount: -1 });
      void admission.wait(held);
      await time.advance(60);
      expect(machine.timers.size).toBe(0);
      admission.leave();
      expect([machine.timers.size, held.lateness?.allowed]).toEqual([1, 50]);
      for (const extension of extensions) admission.extensionEnded(extension, true);
      await time.advance(1000);
      expect([machine.timers.size, held.lateness]).toEqual([0, undefined]);
    });

    test("a third of the ttl later, not every millisecond, for as long as they are late", async () => {
      const { admission, budget, time, timersSet } = await late();
      const waiting = admission.wait(budget({ retryCount: -1 }));
      await time.advance(10_000);
      expect(await outcome(waiting)).toBe("pending");
      // A ttl of 1000 ms.
      expect(timersSet()).toBeLessThanOrEqual(31);
    });

    test("a third of the ttl later, too, while the cap of the leases holds a caller back", async () => {
      const { admission, budget, extensions, leases, time, timersSet } = await late();
      leases.size = 10_000;
      const cancellation = new Cancellation();
      for (const extension of extensions) admission.extensionEnded(extension, true);
      const waiting = admission.wait(budget({ retryCount: -1 }, cancellation));
      await time.advance(300);
      // After the pause so many leases may be held that this caller is not one of them.
      leases.size = 20_000;
      for (let third = 0; third < 3; third += 1) {
        leases.size *= 3;
        await time.advance(333);
      }
      expect(timersSet()).toBeLessThanOrEqual(6);
      cancellation.cancel(new Error("aborted"));
      await outcome(waiting);
      const before = timersSet();
      await time.advance(10_000);
      expect(timersSet()).toBeLessThanOrEqual(before + 1);
    });
  });
});
