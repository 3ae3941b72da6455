import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RedlockOptions } from "../client.ts";
import { InvalidArgumentError, LockLostError } from "../errors.ts";
import { type AcquireOptions, Redlock } from "../redlock.ts";
import { maxTimerDelay } from "../time/runtime.ts";
import { Gate, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";
import type { Lock } from "./lock.ts";
import { aligned, renewalDelay } from "./renewal.ts";

// PROTOCOL 4.4, 5.3.

describe("when the next renewal is due", () => {
  const ttl = fc.integer({ min: 4, max: 2 ** 40 });
  const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const threshold = fc.nat(1e9);
  /** A ttl and what can be left of it: never more than it is. */
  const held = ttl.chain((ttl) =>
    fc.tuple(
      fc.constant(ttl),
      fc.double({ min: 0, max: 1, noNaN: true }).map((part) => part * ttl),
    ),
  );

  test("never in a hot loop and never later than a timer reaches, whatever ttl and threshold are", () => {
    fc.assert(
      fc.property(held, threshold, random, ([ttl, remaining], threshold, random) => {
        const delay = renewalDelay(ttl, remaining, threshold, random);
        expect(delay).toBeGreaterThanOrEqual(Math.min(ttl / 10, remaining / 2, maxTimerDelay));
        expect(delay).toBeLessThanOrEqual(maxTimerDelay);
      }),
      { numRuns: 300 },
    );
  });

  test("before half of what is left is over", () => {
    fc.assert(
      fc.property(held, threshold, random, ([ttl, remaining], threshold, random) => {
        expect(renewalDelay(ttl, remaining, threshold, random)).toBeLessThanOrEqual(remaining / 2);
      }),
      { numRuns: 300 },
    );
  });

  test("when the threshold is left, and after a third of the ttl at the latest", () => {
    const part = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(ttl, part, part, random, (ttl, thresholdPart, restPart, random) => {
        const threshold = ((ttl * 2) / 3) * thresholdPart;
        const rest = ttl / 9 + (ttl - ttl / 9 - threshold) * restPart;
        const delay = renewalDelay(ttl, threshold + rest, threshold, random);
        const latest = Math.min(ttl / 3, rest);
        expect(delay).toBeLessThanOrEqual(latest * (1 + 1e-9));
        expect(delay).toBeGreaterThanOrEqual(
          Math.min(latest * 0.9, (threshold + rest) / 2, maxTimerDelay) * (1 - 1e-9),
        );
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    [9000, 8900, 500, 0, 3000],
    [9000, 8900, 500, 0.5, 2850],
    [1000, 800, 600, 0, 200],
    [1000, 990, 800, 0, 990 - 2000 / 3],
    [1000, 990, 980, 0, 990 - 2000 / 3],
    [1000, 750, 600, 0, 150],
    [1000, 610, 600, 0, 100],
    [1000, 50, 500, 0, 25],
    [25 * 24 * 3600 * 1000, 24 * 24 * 3600 * 1000, 500, 0, 25 * 8 * 3600 * 1000],
    [100 * 24 * 3600 * 1000, 99 * 24 * 3600 * 1000, 500, 0, maxTimerDelay],
  ])(
    "of ttl %d with %d left and threshold %d, at random %d: in %d ms",
    (ttl, remaining, threshold, random, delay) => {
      expect(renewalDelay(ttl, remaining, threshold, random)).toBeCloseTo(delay, 6);
    },
  );
});

describe("renewals that are due at nearly the same time", () => {
  const ttl = fc.integer({ min: 4, max: 2 ** 40 });
  const due = fc.double({ min: 0, max: 1e9, noNaN: true });

  test("come to the same moment: never later, and hardly earlier", () => {
    fc.assert(
      fc.property(due, ttl, (due, ttl) => {
        const moment = aligned(due, ttl);
        expect(moment).toBeLessThanOrEqual(due);
        expect(due - moment).toBeLessThan(Math.min(16, ttl / 100));
        expect(aligned(moment, ttl)).toBe(moment);
      }),
      { numRuns: 300 },
    );
  });

  test("of locks with different ttls too: the moments of one ttl are moments of every shorter one", () => {
    fc.assert(
      fc.property(due, ttl, ttl, (due, ttl, other) => {
        const moment = aligned(due, Math.max(ttl, other));
        expect(aligned(moment, Math.min(ttl, other))).toBe(moment);
      }),
      { numRuns: 300 },
    );
  });

  test("a hundred locks have one timer and few turns, and each is extended in time", async () => {
    const setting = virtualSetting(3);
    const gate = new Gate();
    const locks: Lock[] = [];
    const using = Array.from({ length: 100 }, (_, index) =>
      setting.redlock.using(`r${index}`, 9000, async (_, lock) => {
        locks.push(lock);
        await gate.opened;
      }),
    );
    await setting.time.advance(100);
    expect(setting.machine.timers.size).toBe(1);
    await setting.time.advance(2950);
    const sent = extensionsAt(setting);
    expect(sent).toHaveLength(100);
    // Over 300 ms, a tenth of a third of their ttl: 19 times 16 ms.
    expect(new Set(sent).size).toBeLessThanOrEqual(20);
    await setting.time.advance(60_000);
    for (const lock of locks) expect(lock.state).toBe("held");
    gate.open();
    await setting.time.run(Promise.all(using));
    await setting.time.advance(5);
    expect(setting.machine.timers.size).toBe(0);
  });
});

interface Holding extends VirtualSetting {
  readonly lock: () => Lock;
  readonly using: Promise<string>;
  readonly finish: () => void;
}

function failing(): number {
  throw new Error("this backoff fails");
}

/** A routine that holds a lock until it is told to finish. */
async function holding(ttl: number, options: RedlockOptions = {}, own?: AcquireOptions): Promise<Holding> {
  const setting = virtualSetting(3, { nodeTimeout: Math.min(50, ttl / 4), ...options });
  const gate = new Gate();
  let lock: Lock | undefined;
  const using = setting.redlock.using("r", ttl, own, async (_, given) => {
    lock = given;
    await gate.opened;
    return "done";
  });
  using.catch(() => {});
  await setting.time.advance(3);
  return { ...setting, using, lock: () => lock!, finish: gate.open };
}

function extensionsAt({ nodes }: VirtualSetting): number[] {
  return nodes[0]!.sent.filter(({ kind }) => kind === "extend").map(({ at }) => at);
}

describe("a lock that is kept extended", () => {
  test("stays held far beyond its ttl, without a gap", async () => {
    const setting = await holding(1000);
    for (let step = 0; step < 100; step += 1) {
      await setting.time.advance(100);
      expect(setting.lock().state).toBe("held");
      expect(setting.lock().remaining()).toBeGreaterThan(400);
      for (const master of setting.masters) expect(master.owner("r")).toBe(setting.lock().value);
    }
    setting.finish();
    expect(await setting.time.run(setting.using)).toBe("done");
    expect(setting.client.faults).toEqual([]);
  });

  test("is extended about every third of its ttl", async () => {
    const setting = await holding(9000);
    await setting.time.advance(60_000);
    const sent = extensionsAt(setting);
    expect(sent.length).toBeGreaterThanOrEqual(19);
    // A third of the ttl after the reply, up to a tenth of it earlier by chance. Then `together` moves it back to a
    // moment that all locks share, one in 16 ms for such a ttl: so by less than 16 ms, and nothing else makes it earlier.
    const [trip, step] = [2, 16];
    for (const [index, at] of sent.entries()) {
      const heard = (sent[index - 1] ?? 0) + trip;
      expect(at % step).toBe(0);
      expect(at).toBeGreaterThan(heard + 2700 - step);
      expect(at).toBeLessThanOrEqual(heard + 3000);
    }
  });

  test("a little earlier each time: locks that were taken together are not renewed together", async () => {
    const setting = await holding(9000);
    await setting.time.advance(100_000);
    const sent = extensionsAt(setting);
    const gaps = new Set(sent.slice(1).map((at, index) => at - sent[index]!));
    expect(gaps.size).toBeGreaterThan(5);
  });

  test("is extended when the threshold is left, which is two thirds of the ttl at most", async () => {
    const setting = await holding(9000, {}, { automaticExtensionThreshold: 5500 });
    await setting.time.advance(30_000);
    const first = extensionsAt(setting)[0]!;
    expect(first).toBeGreaterThanOrEqual(3000 * 0.9);
    expect(first).toBeLessThanOrEqual(3002);
    const eager = await holding(9000, {}, { automaticExtensionThreshold: 8999 });
    await eager.time.advance(30_000);
    expect(extensionsAt(eager).length).toBeLessThanOrEqual(14);
  });

  test.each([4, 10, 100, 1250])("with a ttl of %d ms, is not extended in a hot loop", async (ttl) => {
    const setting = await holding(ttl, { automaticExtensionThreshold: 500 });
    await setting.time.advance(2000);
    // The remaining time decides: an extension follows after at least a tenth of the ttl, and after at least 1 ms.
    expect(extensionsAt(setting).length).toBeLessThanOrEqual(2000 / Math.max(1, ttl / 10));
    setting.finish();
    await setting.time.measure(setting.using);
  });

  test("with a ttl of 25 days, and of 100", async () => {
    const day = 24 * 3600 * 1000;
    for (const days of [25, 100]) {
      const setting = await holding(days * day);
      await setting.time.advance(300 * day);
      expect(setting.lock().state).toBe("held");
      const sent = extensionsAt(setting);
      expect(sent.length).toBeGreaterThan(5);
      expect(sent.length).toBeLessThan(60);
    }
  });

  test("goes on through silence, up to the deadline, whatever retryCount says", async () => {
    const setting = await holding(3000, { retryCount: 0, retryDelay: 100, retryJitter: 0 });
    for (const node of setting.nodes) node.cut();
    await setting.time.advance(2700);
    expect(setting.lock().state).toBe("unknown");
    for (const node of setting.nodes) node.restore();
    await setting.time.advance(200);
    expect(setting.lock().state).toBe("held");
    expect(setting.lock().remaining()).toBeGreaterThan(2500);
  });

  test("does not keep an extension of the routine's own waiting for longer than one round", async () => {
    const own = { retryCount: 0, nodeTimeout: 100 };
    const setting = await holding(9000, { retryDelay: 200, retryJitter: 0, nodeTimeout: 250 });
    for (const node of setting.nodes) node.hang();
    // At any moment: between two rounds of the renewal that is tried again, and during one.
    for (const moment of [4000, 83, 83, 83, 83, 83, 83]) {
      await setting.time.advance(moment);
      const { took, error } = await setting.time.measure(setting.redlock.extend(setting.lock(), 9000, own));
      expect(error).toMatchObject({ code: "NO_QUORUM" });
      expect(took).toBeLessThanOrEqual(250 + 100);
    }
    expect(setting.lock().state).toBe("unknown");
    for (const node of setting.nodes) node.resume();
    await setting.time.advance(1000);
    expect(setting.lock().state).toBe("held");
    expect(setting.lock().remaining()).toBeGreaterThan(7900);
  });

  test("goes on where the caller's backoff fails", async () => {
    const setting = await holding(3000, { backoff: failing });
    for (const node of setting.nodes) node.cut();
    await setting.time.advance(2700);
    expect(setting.lock().state).toBe("unknown");
    for (const node of setting.nodes) node.restore();
    await setting.time.advance(200);
    expect(setting.lock().state).toBe("held");
  });

  test("still goes on when the routine extends it for longer itself", async () => {
    const setting = await holding(1000);
    await setting.time.run(setting.lock().extend(10_000));
    // Not before less than its own ttl is left.
    await setting.time.advance(8_000);
    expect(extensionsAt(setting)).toHaveLength(1);
    await setting.time.advance(22_000);
    expect(setting.lock().state).toBe("held");
  });

  test("is notified when it is lost, and not extended again", async () => {
    const setting = await holding(1000);
    for (const node of setting.nodes) node.cut();
    await setting.time.advance(1000);
    expect(setting.lock().state).toBe("lost");
    expect(setting.lock().signal.reason).toBeInstanceOf(LockLostError);
    for (const node of setting.nodes) node.restore();
    for (const node of setting.nodes) node.sent.length = 0;
    await setting.time.advance(10_000);
    expect(setting.nodes.flatMap(({ kinds }) => kinds)).not.toContain("extend");
  });

  test("nothing is left to do when the routine is done: no timer, no extension", async () => {
    const setting = await holding(1000);
    await setting.time.advance(500);
    setting.finish();
    await setting.time.run(setting.using);
    const sent = extensionsAt(setting).length;
    await setting.time.advance(5);
    expect(setting.machine.timers.size).toBe(0);
    await setting.time.advance(10_000);
    expect(extensionsAt(setting).length).toBe(sent);
  });

  test("an extension in flight when the routine is done does not keep the key", async () => {
    const setting = await holding(1000);
    for (const node of setting.nodes) node.toMaster = 40;
    await setting.time.advance(340);
    expect(extensionsAt(setting)).toHaveLength(1);
    setting.finish();
    expect(await setting.time.run(setting.using)).toBe("done");
    await setting.time.advance(200);
    for (const master of setting.masters) expect(master.owner("r")).toBeUndefined();
    expect(setting.machine.timers.size).toBe(0);
  });

  test("its timers keep no process alive", async () => {
    const setting = await holding(1000);
    await setting.time.advance(10);
    expect(setting.machine.timers.size).toBeGreaterThan(0);
    expect(setting.machine.referencedTimers).toBe(0);
  });
});

async function heldFor(setting: Holding): Promise<number> {
  let until = 0;
  while (setting.lock().remaining() > 0 && setting.time.now() < 60_000) {
    until = Math.max(until, setting.time.now() + setting.lock().remaining());
    await setting.time.advance(1);
  }
  return until;
}

describe("maxHoldTime", () => {
  test("ends the lock after that time in all, with that reason", async () => {
    const setting = await holding(1000, {}, { maxHoldTime: 3500 });
    const until = await heldFor(setting);
    expect(until).toBeLessThanOrEqual(3502);
    expect(until).toBeGreaterThan(3300);
    expect(setting.lock().signal.reason).toMatchObject({ why: "it was held for maxHoldTime, 3500 ms" });
  });

  test("hardly longer than the ttl means no extension that lasts longer", async () => {
    const setting = await holding(1000, {}, { maxHoldTime: 1001 });
    expect(await heldFor(setting)).toBeLessThanOrEqual(1003);
  });

  test("is not exceeded by an extension that has to be tried again", async () => {
    const setting = await holding(1000, { retryDelay: 200, retryJitter: 0 }, { maxHoldTime: 1200 });
    for (const node of setting.nodes) node.answering = ({ at }) => (at < 500 ? "silence" : undefined);
    expect(await heldFor(setting)).toBeLessThanOrEqual(1202);
  });

  test("is not exceeded where the way to the masters was longer once", async () => {
    for (const maxHoldTime of [1330, 1360, 1390, 1420, 1450, 1480]) {
      const setting = await holding(1000, { nodeTimeout: 200 }, { maxHoldTime });
      // The first extension takes its time to arrive, so the keys live a little longer than the lease knows.
      for (const node of setting.nodes) node.toMaster = 150;
      await setting.time.advance(500);
      for (const node of setting.nodes) node.toMaster = 1;
      expect(await heldFor(setting)).toBeLessThanOrEqual(maxHoldTime + 2);
    }
  });

  test("bounds what the routine extends, each time that it is asked for", async () => {
    const setting = await holding(
      500,
      { retryCount: 9, retryDelay: 100, retryJitter: 0 },
      { maxHoldTime: 800 },
    );
    const begun = setting.time.now();
    for (const node of setting.nodes) node.sent.length = 0;
    // The first attempt fails, and the next one comes later: it asks for less.
    for (const node of setting.nodes) node.answering = ({ at }) => (at < begun + 100 ? "silence" : undefined);
    const extending = setting.lock().extend(6000);
    expect(await setting.time.run(extending)).toBe(setting.lock());
    expect(setting.lock().remaining()).toBeGreaterThan(600);
    const [node] = setting.nodes;
    expect(extensionsAt(setting).length).toBeGreaterThan(1);
    for (const { at, ttl } of node!.sent) expect(at + ttl).toBeLessThanOrEqual(begun + 801);
    expect(await heldFor(setting)).toBeLessThanOrEqual(begun + 801);
    const why = "it was held for maxHoldTime, 800 ms";
    expect(setting.lock().signal.reason).toMatchObject({ why });
    await setting.time.advance(100);
    for (const master of setting.masters) expect(master.owner("r")).toBeUndefined();
  });

  test("the routine's outcome is still what comes out", async () => {
    const setting = await holding(1000, {}, { maxHoldTime: 2000 });
    await setting.time.advance(5000);
    setting.finish();
    expect(await setting.time.run(setting.using)).toBe("done");
    expect(setting.client.lost).toEqual([setting.lock()]);
  });

  test("below the ttl is refused, with both numbers", async () => {
    const { redlock } = virtualSetting(3);
    const using = redlock.using("r", 1000, { maxHoldTime: 500 }, () => 1);
    await expect(using).rejects.toThrow(/maxHoldTime.* (500|1000) ms .*(500|1000) ms/);
    await expect(using).rejects.toThrow(InvalidArgumentError);
  });
});

/** Masters that take `service` ms for each command, one after the other. */
function slowMasters(service: number, options: RedlockOptions): VirtualSetting {
  const setting = virtualSetting(3, options);
  for (const node of setting.nodes) {
    let busyUntil = 0;
    node.onSend = () => {
      const now = setting.machine.now();
      busyUntil = Math.max(now, busyUntil) + service;
      node.toMaster = busyUntil - now;
    };
    Object.defineProperty(node, "drainedAt", {
      get: () => (busyUntil > setting.machine.now() ? setting.machine.monotonic() : 0),
    });
  }
  return setting;
}

describe("more leases than masters can extend", () => {
  test("none that is held is lost; who asks for more waits, and is refused with the reason", async () => {
    const setting = slowMasters(1, { retryCount: 10, retryJitter: 0 });
    const gate = new Gate();
    const refusals: string[] = [];
    for (let index = 0; index < 700; index += 1) {
      setting.redlock
        .using(`r${index}`, 1000, () => gate.opened)
        .catch((error: Error) => refusals.push(error.message));
    }
    const { leases } = Redlock.internalsOf(setting.redlock).context;
    const areDecided = (): boolean => leases.size + refusals.length === 700;
    for (let second = 0; second < 30 && !areDecided(); second += 1) await setting.time.advance(1000);
    // 1,000 commands a second, and each lease is extended three times.
    expect(leases.size).toBeGreaterThan(250);
    expect(areDecided()).toBe(true);
    expect(setting.client.lost).toEqual([]);
    const why = /^No new lock: \d+ are held, and their extensions are \d+ ms late, above the limit of \d+ ms/;
    expect(refusals.filter((message) => why.test(message)).length).toBeGreaterThan(100);
    // Once they are given back there is room again.
    gate.open();
    await setting.time.advance(2000);
    const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
    expect(lock.state).toBe("held");
  });
});
