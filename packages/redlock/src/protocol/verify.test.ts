import { describe, expect, test } from "vitest";
import { ExecutionError, InvalidArgumentError, LockLostError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { VirtualClient, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";

// PROTOCOL 4.3, 4.5, 5.10.

const worthOf1000 = 999 * 0.99 - 1;

async function held(count = 3, options: object = {}): Promise<VirtualSetting & { lock: Lock }> {
  const setting = virtualSetting(count, options);
  const lock = await setting.time.run(setting.redlock.acquire("r", 1000));
  for (const node of setting.nodes) node.sent.length = 0;
  return { ...setting, lock };
}

/** The same lock in another process. */
async function resumed(options: object = {}) {
  const predecessor = await held(3, options);
  const taker = new VirtualClient(predecessor.masters, { retryCount: 0, ...options }, 2);
  const json = JSON.stringify(await predecessor.time.run(predecessor.lock.detach()));
  const lock = taker.redlock.resume(JSON.parse(json));
  return { ...predecessor, given: predecessor.lock, taker, lock, json };
}

describe("a lock that was requested with a driftFactor of its own", () => {
  test.each([
    ["verify", (lock: Lock): Promise<unknown> => lock.verify()],
    ["extend", (lock: Lock): Promise<unknown> => lock.extend(1000)],
  ])("is kept by it through %s, which names none", async (_, confirm) => {
    const { time, masters, redlock } = virtualSetting(3);
    for (const master of masters) master.rate = 1.05;
    const lock = await time.run(redlock.acquire("r", 1000, { driftFactor: 0.1 }));
    await time.run(confirm(lock));
    expect(lock.remaining()).toBeLessThanOrEqual(0.9 * 1000);
    await time.advance(lock.remaining());
    expect(lock.state).toBe("lost");
    for (const master of masters) expect(master.owner("r")).toBe(lock.value);
  });
});

describe("verify", () => {
  test("asks all masters and changes nothing", async () => {
    const { time, nodes, masters, lock } = await held();
    await time.advance(300);
    const left = lock.remaining();
    const until = masters.map((master) => master.remaining("r") + time.now());
    expect(await time.run(lock.verify())).toBe(true);
    for (const node of nodes) expect(node.sent).toMatchObject([{ kind: "extend", repair: false, ttl: 1 }]);
    expect(masters.map((master) => master.remaining("r") + time.now())).toEqual(until);
    expect(lock.remaining()).toBeGreaterThanOrEqual(left - 2);
    expect(lock.remaining()).toBeLessThanOrEqual(1000 - 302);
  });

  test("sets no key again", async () => {
    const { time, masters, lock } = await held();
    masters[0]!.forget();
    expect(await time.run(lock.verify())).toBe(true);
    await time.advance(5);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });

  test("is false if a majority does not hold it, and the loss is final", async () => {
    const { time, masters, lock, client } = await held();
    for (const master of masters.slice(0, 2)) master.put("r", "rival");
    expect(await time.run(lock.verify())).toBe(false);
    expect([lock.state, lock.signal.aborted, client.lost]).toEqual(["lost", true, [lock]]);
    expect(await time.run(lock.verify())).toBe(false);
  });

  test("of an ended lock is false, and sends nothing", async () => {
    const ends = [(lock: Lock) => lock.release(), (lock: Lock) => lock.detach(), () => Promise.resolve()];
    for (const end of ends) {
      const { time, nodes, machine, lock } = await held();
      await time.run<unknown>(end(lock));
      machine.block(1000);
      for (const node of nodes) node.sent.length = 0;
      expect(await time.run(lock.verify())).toBe(false);
      for (const node of nodes) expect(node.sent).toEqual([]);
    }
  });

  test("rejects with an ExecutionError that names the unresponsive majority, and the state is unknown", async () => {
    const { time, nodes, lock } = await held(3, { nodeTimeout: 50 });
    nodes[0]!.hang();
    nodes[1]!.cut();
    const { took, error } = await time.measure(lock.verify());
    expect(took).toBe(50);
    expect(error).toBeInstanceOf(ExecutionError);
    expect((error as Error).message).toContain("master-0: TIMEOUT; master-1: UNREACHABLE");
    expect(lock.state).toBe("unknown");
  });

  test("is false if no master answers until the deadline", async () => {
    const { time, nodes, lock } = await held(3, { nodeTimeout: 200 });
    for (const node of nodes) node.hang();
    await time.advance(900);
    expect(await time.run(lock.verify())).toBe(false);
  });
});

describe("a lock that is resumed", () => {
  test("has its resources, token and ttl, and no deadline", async () => {
    const { json, given } = await resumed();
    expect(JSON.parse(json)).toEqual({ resources: ["r"], value: given.value, ttl: 1000 });
  });

  test("is unknown, with nothing remaining, until a quorum has confirmed", async () => {
    const { lock, given, taker } = await resumed();
    expect([lock.state, lock.remaining(), lock.expiration, lock.signal.aborted]).toEqual([
      "unknown",
      0,
      0,
      false,
    ]);
    expect([lock.resources, lock.value]).toEqual([given.resources, given.value]);
    expect(taker.nodes.flatMap(({ sent }) => sent)).toEqual([]);
    expect(taker.machine.timers.size).toBe(0);
  });

  test("gets its remaining time from verify, counted from before the request", async () => {
    const { time, lock, masters } = await resumed();
    await time.advance(500);
    const begun = time.now();
    expect(await time.run(lock.verify())).toBe(true);
    expect(lock.state).toBe("held");
    // The keys were set at 1 ms; the question arrived 1 ms after `begun`, and its answer took another.
    const said = 1001 - (begun + 1);
    expect(lock.remaining()).toBeCloseTo((said - 1) * 0.99 - 1 - 2, 6);
    for (const master of masters) expect(lock.remaining()).toBeLessThan(master.remaining("r"));
  });

  test("is signalled at its deadline like any other", async () => {
    const { time, lock, taker } = await resumed();
    await time.run(lock.verify());
    await time.advance(1000);
    expect(lock.signal.aborted).toBe(true);
    expect(taker.lost).toEqual([lock]);
    expect(time.now()).toBeGreaterThan(worthOf1000);
  });

  test("can be extended, without repair", async () => {
    const { time, lock, masters, taker } = await resumed();
    masters[0]!.forget();
    await time.run(lock.extend(5000));
    expect(lock.state).toBe("held");
    expect(lock.remaining()).toBeGreaterThan(4900);
    await time.advance(5);
    expect(masters.map((master) => master.owner("r"))).toEqual([undefined, lock.value, lock.value]);
    for (const node of taker.nodes) expect(node.sent).toMatchObject([{ repair: false }]);
    // Nor does it later.
    await time.run(lock.extend(5000));
    expect(taker.nodes.flatMap(({ sent }) => sent).some(({ repair }) => repair)).toBe(false);
  });

  test("stays without remaining time if fewer than a quorum say yes", async () => {
    const { time, lock, masters, taker } = await resumed({ nodeTimeout: 50 });
    taker.nodes[0]!.hang();
    masters[1]!.forget();
    await expect(time.run(lock.verify())).rejects.toThrow(ExecutionError);
    expect([lock.state, lock.remaining()]).toEqual(["unknown", 0]);
  });

  test("that has expired is lost, by verify and extend alike", async () => {
    for (const ask of [(lock: Lock) => lock.verify(), (lock: Lock) => lock.extend(1000).catch(() => false)]) {
      const { time, lock, masters, taker } = await resumed();
      for (const master of masters) master.forget();
      expect(await time.run<unknown>(ask(lock))).toBe(false);
      expect(lock.state).toBe("lost");
      expect(taker.lost).toEqual([lock]);
      await expect(time.run(lock.extend(1000))).rejects.toThrow(LockLostError);
    }
  });

  test("whose keys expire too soon to leave any validity is not held", async () => {
    const { time, lock } = await resumed();
    // The question arrives with 1 ms to live: a yes, worth nothing.
    await time.advance(1001 - 2 - time.now());
    expect(await time.run(lock.verify())).toBe(false);
    expect(lock.remaining()).toBe(0);
    expect(lock.state).not.toBe("held");
  });

  test("whose extension is answered too late is not held", async () => {
    const { time, lock, taker } = await resumed();
    const extending = lock.extend(1000);
    extending.catch(() => {});
    taker.machine.block(1500);
    await time.measure(extending);
    expect(lock.remaining()).toBe(0);
    expect(lock.state).not.toBe("held");
    expect((await time.measure(extending)).error).toBeInstanceOf(ExecutionError);
  });

  test("may be shorter than its receiver's nodeTimeout and minimumValidity", async () => {
    const { time, given, masters } = await resumed();
    const receiver = new VirtualClient(masters, { nodeTimeout: 2000, minimumValidity: 3000 }, 3);
    const lock = receiver.redlock.resume({ resources: ["r"], value: given.value, ttl: 400 });
    expect(await time.run(lock.verify())).toBe(true);
    expect(lock.remaining()).toBeLessThanOrEqual(400);
    expect(lock.remaining()).toBeGreaterThan(300);
  });

  test("can be released without verify, from any process", async () => {
    const { time, lock, masters } = await resumed();
    expect(await time.run(lock.release())).toMatchObject({ outcome: "released" });
    await time.advance(5);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
    expect(lock.state).toBe("released");
  });

  test("lasts no longer than the requested ttl, whatever the keys' remaining time", async () => {
    const { time, lock, masters } = await resumed();
    for (const master of masters) master.put("r", lock.value, 60_000);
    await time.run(lock.verify());
    expect(lock.remaining()).toBeLessThanOrEqual(1000);
  });

  test.each([
    null,
    undefined,
    "r",
    {},
    { resources: ["r"] },
    { resources: ["r"], value: "", ttl: 1000 },
    { resources: ["r"], value: 5, ttl: 1000 },
    { resources: [], value: "t", ttl: 1000 },
    { resources: ["r", "r"], value: "t", ttl: 1000 },
    { resources: ["r"], value: "t" },
    { resources: ["r"], value: "t", ttl: -1 },
    { resources: ["r"], value: "t", ttl: "1000" },
  ])("%j is refused as a detached lock", (junk) => {
    const { redlock } = virtualSetting(3);
    expect(() => redlock.resume(junk as never)).toThrow(InvalidArgumentError);
  });
});
