import { describe, expect, test } from "vitest";
import type { Lock } from "../holding/lock.ts";
import { Redlock } from "../redlock.ts";
import { virtualSetting } from "../virtual-time.test.ts";
import { SlotRace } from "./slot-race.ts";

const ttl = 1000;

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
  const terms = { runtime: machine, slots, count, ttl, settings, signal: controller.signal };
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
});
