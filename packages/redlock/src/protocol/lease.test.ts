import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { LockLostError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { resumedHere, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";

// PROTOCOL 1.6, 1.11, 3.2, 3.3, 3.6, 4.3.

// PROTOCOL 3: the state of a lease at each moment, and when its holder is notified.

/** ttl minus drift, of a lock of 1000 ms. */
const worthOf1000 = 999 * 0.99 - 1;
const worthOf5000 = 4999 * 0.99 - 1;

async function held(count = 3, ttl = 1000, options: object = {}): Promise<VirtualSetting & { lock: Lock }> {
  const setting = virtualSetting(count, options);
  const lock = await setting.time.run(setting.redlock.acquire("r", ttl));
  return { ...setting, lock };
}

/** The true time at which the lock's signal aborted; undefined before that. */
function tellTime({ time, lock }: { time: VirtualSetting["time"]; lock: Lock }): {
  told: number | undefined;
} {
  const seen = { told: undefined as number | undefined };
  lock.signal.addEventListener("abort", () => {
    seen.told = time.now();
  });
  return seen;
}

describe("the deadline", () => {
  test("is signalled by a timer, without any reply, shortly before it", async () => {
    const setting = await held();
    const seen = tellTime(setting);
    for (const node of setting.nodes) node.hang();
    await setting.time.advance(2000);
    expect(seen.told).toBeLessThanOrEqual(worthOf1000);
    expect(seen.told).toBeGreaterThanOrEqual(worthOf1000 - 11);
    expect(setting.lock.signal.reason).toBeInstanceOf(LockLostError);
    expect(setting.lock.state).toBe("lost");
  });

  test("is signalled before the key expires on any master, even one with a fast clock", async () => {
    const setting = await held();
    const seen = tellTime(setting);
    for (const master of setting.masters) master.rate = 1.01;
    const owned: number[] = [];
    while (setting.time.now() < 1100) {
      if (setting.masters.filter((master) => master.owner("r")).length >= 2) owned.push(setting.time.now());
      await setting.time.advance(1);
    }
    expect(seen.told).toBeLessThan(owned.at(-1)!);
  });

  test("is signalled a twentieth of the ttl ahead for a short ttl", async () => {
    const setting = await held(3, 100);
    const seen = tellTime(setting);
    await setting.time.advance(200);
    const worth = 99 * 0.99 - 1;
    expect(seen.told).toBeLessThanOrEqual(worth);
    expect(seen.told).toBeGreaterThanOrEqual(worth - 6);
  });

  test("is where remaining() reaches 0, and it is never negative", async () => {
    const { time, lock } = await held();
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 2, 6);
    await time.advance(500);
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 502, 6);
    await time.advance(5000);
    expect(lock.remaining()).toBe(0);
    expect(lock.expiration).toBe(0);
  });

  test("is `expiration` by the wall clock", async () => {
    const { time, machine, lock } = await held();
    await time.advance(100);
    expect(lock.expiration).toBe(Math.floor(machine.wall() + lock.remaining()));
  });

  test("is signalled in time even beyond the longest timer", async () => {
    const ttl = 60 * 24 * 3600 * 1000;
    const setting = await held(3, ttl);
    const seen = tellTime(setting);
    await setting.time.advance(ttl);
    const worth = (ttl - 1) * 0.99 - 1;
    expect(seen.told).toBeLessThanOrEqual(worth);
    expect(seen.told).toBeGreaterThanOrEqual(worth - 11);
  });

  test("keeps no process alive", async () => {
    const { time, machine } = await held();
    await time.advance(5);
    expect(machine.timers.size).toBe(1);
    expect(machine.referencedTimers).toBe(0);
  });

  test("a released lock has no timer", async () => {
    const { time, machine, lock } = await held();
    await time.run(lock.release());
    await time.advance(5);
    expect(machine.timers.size).toBe(0);
  });
});

describe("clocks that misbehave while a lock is held", () => {
  test("a blocked event loop: remaining() is right immediately, before any timer", async () => {
    const { machine, lock } = await held();
    let told = false;
    lock.signal.addEventListener("abort", () => {
      told = true;
    });
    machine.block(1000);
    expect(told).toBe(false);
    expect(lock.remaining()).toBe(0);
    expect(lock.state).toBe("lost");
    // Reading the remaining time has notified all listeners.
    expect(told).toBe(true);
  });

  test("a blocked event loop: the remaining time follows the clocks", async () => {
    const { machine, lock } = await held();
    machine.block(600);
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 602, 6);
    expect(lock.state).toBe("held");
  });

  test("a blocked event loop: the timer fires right after it", async () => {
    const setting = await held();
    const seen = tellTime(setting);
    setting.machine.block(3000);
    await setting.time.advance(1000);
    expect(seen.told).toBeLessThanOrEqual(1000);
  });

  test("a suspended machine finds its lock lost when it wakes up", async () => {
    const setting = await held();
    const { lock, machine } = setting;
    machine.suspend(1000);
    expect(lock.remaining()).toBe(0);
    expect(lock.signal.aborted).toBe(true);
  });

  test("several suspensions add up, and a step back of the wall clock does not cancel them", async () => {
    const { machine, lock } = await held();
    machine.suspend(400);
    lock.remaining();
    machine.stepWall(-400);
    lock.remaining();
    machine.suspend(400);
    lock.remaining();
    machine.stepWall(-10_000);
    expect(lock.remaining()).toBeLessThanOrEqual(worthOf1000 - 800 + 4);
    machine.suspend(400);
    expect(lock.remaining()).toBe(0);
  });

  test("a wall clock stepped back adds no time", async () => {
    const setting = await held();
    const seen = tellTime(setting);
    setting.machine.stepWall(-60_000);
    await setting.time.advance(2000);
    expect(seen.told).toBeLessThanOrEqual(worthOf1000);
    expect(seen.told).toBeGreaterThan(900);
  });

  test("a wall clock stepped forward costs the lock, and it is final", async () => {
    const { machine, lock } = await held();
    machine.stepWall(60_000);
    expect(lock.state).toBe("lost");
    machine.stepWall(-60_000);
    expect(lock.state).toBe("lost");
    expect(lock.remaining()).toBe(0);
  });

  test("a suspension detected by any call brings every lock's timer forward", async () => {
    const setting = await held();
    const seen = tellTime(setting);
    setting.machine.suspend(500);
    // Another lock's round reads the clocks.
    await setting.time.run(setting.redlock.acquire("other", 60_000));
    await setting.time.advance(2000);
    expect(seen.told).toBeLessThanOrEqual(worthOf1000);
    expect(seen.told).toBeGreaterThan(900);
  });

  test("a timer that was set before a suspension checks the clocks", async () => {
    const setting = await held();
    const seen = tellTime(setting);
    setting.machine.suspend(500);
    await setting.time.run(setting.lock.extend(1000).catch(() => setting.lock));
    await setting.time.advance(3000);
    expect(seen.told! - 502).toBeLessThanOrEqual(worthOf1000 + 4);
  });
});

describe("a deadline for each master", () => {
  test("the lease ends at the quorum-th largest: a partly failed extension costs nothing", async () => {
    const { time, nodes, lock } = await held(5);
    await time.advance(500);
    for (const node of nodes.slice(0, 2)) node.hang();
    await time.run(lock.extend(5000));
    const extended = lock.remaining();
    expect(extended).toBeCloseTo(worthOf5000 - 2, 6);
    nodes[2]!.hang();
    await time.run(lock.extend(5000).catch(() => {}));
    // Two of five answered: the previous quorum is still valid.
    expect(lock.state).toBe("unknown");
    expect(lock.remaining()).toBeLessThan(extended);
    expect(lock.remaining()).toBeGreaterThan(2000);
  });

  test("extensions of different masters never add up to more than a quorum keeps", async () => {
    const { time, nodes, lock } = await held(3, 1000, { nodeTimeout: 50 });
    const before = lock.remaining() + time.now();
    for (const node of nodes.slice(1)) node.hang();
    await time.run(lock.extend(5000).catch(() => {}));
    // One master of three keeps it for longer: not a quorum.
    expect(lock.remaining() + time.now()).toBeCloseTo(before, 6);
    for (const node of nodes.slice(1)) node.resume();
    await time.advance(5);
    expect(lock.remaining() + time.now()).toBeCloseTo(worthOf5000 + 2, 0);
  });

  test("a shorter extension shortens nothing, with or without its replies", async () => {
    const { time, nodes, lock } = await held(3, 5000);
    const until = lock.remaining() + time.now();
    await time.run(lock.extend(100));
    expect(lock.remaining() + time.now()).toBeGreaterThanOrEqual(until - 0.02 * 5000);
    for (const node of nodes) node.mute = true;
    await time.run(lock.extend(100).catch(() => {}));
    await time.advance(2000);
    expect(lock.remaining()).toBeGreaterThan(1000);
    expect(lock.state).toBe("unknown");
  });

  test("a yes with less remaining time than known shortens nothing", async () => {
    const { time, nodes, lock } = await held();
    const until = lock.remaining() + time.now();
    for (const node of nodes) node.answering = () => ({ is: "yes", remaining: 100 });
    expect(await time.run(lock.verify())).toBe(true);
    expect(lock.remaining() + time.now()).toBeCloseTo(until, 6);
    await time.run(lock.extend(50).catch(() => {}));
    expect(lock.remaining() + time.now()).toBeCloseTo(until, 6);
  });

  test("one refusal of three is not a loss, two are", async () => {
    const setting = await held();
    const { time, masters, nodes } = setting;
    const lock = await resumedHere(setting, setting.lock);
    masters[0]!.forget();
    expect(await time.run(lock.verify())).toBe(true);
    expect(lock.state).toBe("held");
    masters[1]!.forget();
    expect(await time.run(lock.verify())).toBe(false);
    expect(lock.state).toBe("lost");
    expect(nodes[0]!.master.owner("r")).toBeUndefined();
  });

  test("a refusal removes the master: its old deadline no longer counts", async () => {
    const setting = await held(3, 1000, { nodeTimeout: 50 });
    const { time, nodes, masters } = setting;
    const lock = await resumedHere(setting, setting.lock);
    const before = time.now() + lock.remaining();
    await time.advance(100);
    masters[0]!.forget();
    nodes[2]!.hang();
    await time.run(lock.extend(5000).catch(() => {}));
    // Master 1 keeps it for 5 s, master 2 for the rest of 1 s, master 0 not at all.
    expect(lock.remaining() + time.now()).toBeCloseTo(before, 6);
  });

  test("when the quorum-th deadline is removed, the timer follows the next one", async () => {
    const setting = await held(3, 5000, { nodeTimeout: 50 });
    const { time, nodes, masters } = setting;
    const lock = await resumedHere(setting, setting.lock);
    const before = time.now() + lock.remaining();
    const seen = tellTime({ time, lock });
    // Masters 0 and 1 for 20 s, master 2 still for 5 s; then master 0 has lost it.
    nodes[2]!.hang();
    await time.run(lock.extend(20_000));
    masters[0]!.forget();
    await time.run(lock.verify().catch(() => {}));
    await time.advance(20_000);
    expect(seen.told).toBeLessThanOrEqual(before);
    expect(seen.told).toBeGreaterThan(before - 20);
  });
});

/** A lock of five masters: three keep it for 20 s, the others for 5 s, and it was looked at in between. */
async function uneven() {
  const setting = await held(5, 1000, { nodeTimeout: 50 });
  const { time, nodes } = setting;
  const lock = await resumedHere(setting, setting.lock);
  for (const node of nodes.slice(3)) node.cut();
  await time.run(lock.extend(20_000));
  for (const node of nodes.slice(3)) node.restore();
  await time.run(lock.extend(5000));
  await time.advance(1500);
  return { ...setting, lock };
}

describe("a deadline that moves forward", () => {
  test("is signalled in time", async () => {
    const setting = await uneven();
    const seen = tellTime(setting);
    setting.masters[0]!.forget();
    await setting.time.run(setting.lock.verify());
    expect(setting.lock.remaining() + setting.time.now()).toBeLessThanOrEqual(worthOf5000 + 100);
    const until = setting.lock.remaining() + setting.time.now();
    await setting.time.advance(30_000);
    expect(seen.told).toBeLessThanOrEqual(until);
    expect(seen.told).toBeGreaterThan(until - 20);
  });

  test("leaves no timer of the previous one behind", async () => {
    const { time, machine, masters, lock } = await uneven();
    masters[0]!.forget();
    await time.run(lock.verify());
    await time.run(lock.release());
    await time.advance(5);
    expect(machine.timers.size).toBe(0);
  });
});

describe("a signal that is read when its timer is late", () => {
  test.each(["aborted", "reason", "throwIfAborted"] as const)(
    "shows by %s that the lock is lost",
    async (how) => {
      const { machine, lock, client } = await held();
      const { signal } = lock;
      expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
      signal.throwIfAborted();
      // No timer has fired since.
      machine.block(1000);
      if (how === "aborted") expect(signal.aborted).toBe(true);
      else if (how === "reason") expect(signal.reason).toBeInstanceOf(LockLostError);
      else expect(() => signal.throwIfAborted()).toThrow(LockLostError);
      expect(lock.state).toBe("lost");
      expect(client.lost).toEqual([lock]);
    },
  );

  test("is an AbortSignal like any other", async () => {
    const { time, lock } = await held();
    const { signal } = lock;
    expect(signal).toBeInstanceOf(AbortSignal);
    expect(inspect(signal)).toBe(inspect(new AbortController().signal));
    const follower = AbortSignal.any([signal, new AbortController().signal]);
    let told = 0;
    signal.addEventListener("abort", () => {
      told += 1;
    });
    await time.advance(2000);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect([told, follower.aborted, follower.reason]).toEqual([1, true, signal.reason]);
  });
});

describe("the notification of a loss", () => {
  test("comes once, by signal and event, with the same reason", async () => {
    const { time, lock, client } = await held();
    let aborts = 0;
    lock.signal.addEventListener("abort", () => {
      aborts += 1;
    });
    await time.advance(5000);
    void [lock.state, lock.remaining(), lock.signal, lock.state];
    await time.run(lock.release());
    await time.advance(5000);
    expect([aborts, client.lost]).toEqual([1, [lock]]);
    expect(lock.signal.reason).toMatchObject({ code: "LOCK_LOST", resources: ["r"] });
    expect((lock.signal as { error?: Error }).error).toBe(lock.signal.reason);
    expect(client.faults).toEqual([]);
  });

  test("finds the lock ended for every reader", async () => {
    const { time, masters, lock, client } = await held();
    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => seen.push([lock.state, lock.remaining(), lock.expiration]));
    // At the deadline, with nothing remaining; and by refusals, with time remaining.
    for (const master of masters) master.put("r", "rival");
    await time.run(lock.verify());
    const other = await held();
    other.lock.signal.addEventListener("abort", () =>
      seen.push([other.lock.state, other.lock.remaining(), other.lock.expiration]),
    );
    other.machine.block(5000);
    expect(other.lock.remaining()).toBe(0);
    expect(seen).toEqual([
      ["lost", 0, 0],
      ["lost", 0, 0],
    ]);
    expect([client.lost, other.client.lost]).toEqual([[lock], [other.lock]]);
  });

  test("the event comes even if the signal was never read", async () => {
    const { time, client, lock } = await held();
    await time.advance(5000);
    expect(client.lost).toEqual([lock]);
    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal.reason).toBeInstanceOf(LockLostError);
  });

  test("a release is not a loss: neither signal nor event, then or later", async () => {
    const { time, client, lock } = await held();
    const { signal } = lock;
    await time.run(lock.release());
    await time.advance(5000);
    expect([signal.aborted, lock.signal.aborted, client.lost]).toEqual([false, false, []]);
    expect(lock.state).toBe("released");
    expect(lock.remaining()).toBe(0);
  });

  test("releasing an expired lock reports that it was lost", async () => {
    const { time, client, lock, machine } = await held();
    machine.block(2000);
    const releasing = lock.release();
    expect(lock.state).toBe("lost");
    expect(client.lost).toEqual([lock]);
    await time.run(releasing);
  });
});
