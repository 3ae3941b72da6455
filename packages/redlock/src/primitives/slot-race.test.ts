import { describe, expect, test } from "vitest";
import { type RedlockError, ResourceLockedError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { Redlock } from "../redlock.ts";
import { onAbort } from "../time/abort.ts";
import { virtualSetting } from "../virtual-time.test.ts";
import { SlotRace } from "./slot-race.ts";

// PROTOCOL 10.2.

const ttl = 1000;

const endless = (): number => Number.POSITIVE_INFINITY;

function setting(count: number) {
  const { time, masters, redlock, machine } = virtualSetting(3);
  const granted: Lock[] = [];
  const settings = Redlock.internalsOf(redlock).settingsFor(undefined);
  const controller = new AbortController();
  const acquire = async (slot: string): Promise<Lock> => {
    const lock = await redlock.acquire(slot, ttl);
    granted.push(lock);
    return lock;
  };
  const slots = ["a", "b", "c"];
  const terms = { runtime: machine, slots, count, ttl, settings, signal: controller.signal, left: endless };
  return { time, masters, machine, granted, terms, acquire, controller };
}

describe("a race for slots", () => {
  test("gives back what is granted when others were enough", async () => {
    const { time, masters, granted, terms, acquire } = setting(1);
    const held = await time.run(new SlotRace({ ...terms, acquire }).run());
    await time.advance(10);
    expect(granted).toHaveLength(3);
    expect(granted.map(({ state }) => state)).toEqual(["held", "released", "released"]);
    expect(held).toEqual([granted[0]]);
    expect(["a", "b", "c"].map((slot) => masters[0]!.owner(slot))).toEqual([
      held[0]!.value,
      undefined,
      undefined,
    ]);
  });

  test("keeps what it has until there are enough, as one and the same hold", async () => {
    const { time, machine, granted, terms, acquire } = setting(2);
    const late = async (slot: string): Promise<Lock> => {
      if (slot !== "a") await new Promise<void>((resolve) => void machine.setTimer(resolve, 5 * ttl));
      return acquire(slot);
    };
    const held = await time.run(new SlotRace({ ...terms, acquire: late }).run());
    expect(held).toHaveLength(2);
    expect(held[0]).toBe(granted[0]);
    expect(granted.filter(({ resources }) => resources[0] === "a")).toHaveLength(1);
    for (const lock of held) expect(lock.remaining()).toBeGreaterThan(0);
  });

  test("acquires a slot again that it has lost", async () => {
    const { time, machine, granted, terms, acquire } = setting(2);
    const once = async (slot: string): Promise<Lock> => {
      if (slot !== "a") await new Promise<void>((resolve) => void machine.setTimer(resolve, 3 * ttl));
      return acquire(slot);
    };
    const racing = new SlotRace({ ...terms, acquire: once }).run();
    await time.advance(10);
    // Blocked until no extension can be in time.
    machine.block(2 * ttl);
    await time.advance(2 * ttl + 100);
    expect(granted.map(({ state }) => state)).toEqual(["lost", "held"]);
    expect(await time.run(racing)).toHaveLength(2);
  });

  test("ends at once if its signal has aborted before it begins", async () => {
    const { time, terms, controller } = setting(1);
    const reason = new Error("enough");
    controller.abort(reason);
    const asked: string[] = [];
    const acquire = (slot: string, signal: AbortSignal): Promise<Lock> => {
      asked.push(slot);
      return Promise.reject(signal.reason as Error);
    };
    const { error } = await time.measure(new SlotRace({ ...terms, acquire }).run());
    expect(error).toBe(reason);
    expect(asked).toEqual(["a"]);
  });

  test("ends with its signal, and leaves nothing behind", async () => {
    const { time, masters, terms, acquire, controller } = setting(2);
    const pending = (slot: string, signal: AbortSignal): Promise<Lock> => {
      if (slot === "a") return acquire(slot);
      return new Promise((_, reject) =>
        signal.addEventListener("abort", () => reject(signal.reason as Error)),
      );
    };
    const racing = new SlotRace({ ...terms, acquire: pending }).run();
    await time.advance(10);
    const reason = new Error("enough");
    controller.abort(reason);
    const { error } = await time.measure(racing);
    expect(error).toBe(reason);
    await time.advance(10);
    expect(masters[0]!.owner("a")).toBeUndefined();
  });

  test("ends with its signal where its only slot is granted in the same turn", async () => {
    const { time, masters, terms, acquire, controller } = setting(1);
    const reason = new Error("enough");
    const granted = async (slot: string): Promise<Lock> => {
      const lock = await acquire(slot);
      controller.abort(reason);
      return lock;
    };
    const { error } = await time.measure(new SlotRace({ ...terms, slots: ["a"], acquire: granted }).run());
    expect(error).toMatchObject({ name: "AbortError", cause: reason });
    await time.advance(10);
    expect(masters[0]!.owner("a")).toBeUndefined();
  });

  test("ends with its signal where it holds all slots that it has asked for, and releases them", async () => {
    const { time, masters, terms, acquire, controller } = setting(40);
    const slots = Array.from({ length: 40 }, (_, index) => `slot ${index}`);
    const racing = new SlotRace({ ...terms, slots, acquire }).run();
    // The other eight are asked for 6 ms after the first.
    await time.advance(5);
    expect(masters[0]!.owner("slot 31")).toBeDefined();
    const reason = new Error("enough");
    controller.abort(reason);
    expect((await time.measure(racing)).error).toMatchObject({ name: "AbortError", cause: reason });
    await time.advance(10);
    expect(slots.filter((slot) => masters[0]!.owner(slot) !== undefined)).toEqual([]);
  });

  test("asks for 32 slots at most in one turn, and for no further one when it is decided", async () => {
    const { time, terms, acquire } = setting(1);
    const slots = Array.from({ length: 1000 }, (_, index) => `slot ${index}`);
    const perTurn = new Map<number, number>();
    const counting = (slot: string): Promise<Lock> => {
      perTurn.set(time.now(), (perTurn.get(time.now()) ?? 0) + 1);
      return acquire(slot);
    };
    await time.run(new SlotRace({ ...terms, slots, acquire: counting }).run());
    await time.advance(1000);
    expect(Math.max(...perTurn.values())).toBe(32);
    const asked = [...perTurn.values()].reduce((sum, count) => sum + count);
    expect(asked).toBeLessThan(1000);
  });

  describe("for thousands of slots", () => {
    const count = 10_000;
    const slots = Array.from({ length: count }, (_, index) => `slot ${index}`);

    /** A race in which no slot becomes free, and how many slots ended in each ms, and with which error. */
    function vain(timeLimit: number) {
      const { time, machine, terms, controller } = setting(1);
      const endedAt = new Map<number, number>();
      const countEnd = (): unknown => endedAt.set(time.now(), (endedAt.get(time.now()) ?? 0) + 1);
      const acquire = (slot: string, signal: AbortSignal, delay: number): Promise<RedlockError> =>
        new Promise((resolve, reject) => {
          const refused = (): void => {
            countEnd();
            resolve(new ResourceLockedError(slot, 500 + slots.indexOf(slot)));
          };
          if (delay < Number.POSITIVE_INFINITY) void machine.setTimer(refused, left() + delay);
          onAbort(signal, () => {
            countEnd();
            reject(signal.reason as Error);
          });
        });
      const end = time.now() + timeLimit;
      const left = (): number => Math.max(0, end - time.now());
      const race = new SlotRace({ ...terms, slots, left, acquire });
      return { time, controller, endedAt, end, race };
    }

    test("ends with its time, with the refusal that ends first, and leaves 32 slots in a turn at most", async () => {
      const { time, race, endedAt, end } = vain(5000);
      const { error } = await time.measure(race.run());
      expect(error).toMatchObject({ name: "ResourceLockedError", remaining: 500 });
      expect(time.now()).toBeLessThanOrEqual(end + 1);
      await time.advance(5000);
      expect(Math.max(...endedAt.values())).toBeLessThanOrEqual(2 * 32);
      expect([...endedAt.values()].reduce((sum, ended) => sum + ended)).toBeGreaterThanOrEqual(count);
    });

    test("leaves 32 in a turn when it is aborted, and all of them before it ends", async () => {
      const { time, race, endedAt, controller } = vain(100_000);
      const racing = race.run();
      await time.advance(5000);
      const reason = new Error("enough");
      controller.abort(reason);
      expect((await time.measure(racing)).error).toBe(reason);
      expect(Math.max(...endedAt.values())).toBe(32);
      expect([...endedAt.values()].reduce((sum, ended) => sum + ended)).toBe(count);
    });
  });
});
