import { describe, expect, test } from "vitest";
import { ExecutionError, LockLostError } from "../errors.ts";
import type { Lock } from "../holding/lock.ts";
import { resumedHere, settle, type VirtualSetting, virtualSetting } from "../virtual-time.test.ts";

// PROTOCOL 4.1, 4.2, 4.6.

// PROTOCOL 4.

const worthOf1000 = 999 * 0.99 - 1;
const worthOf5000 = 4999 * 0.99 - 1;

async function held(count = 3, ttl = 1000, options: object = {}): Promise<VirtualSetting & { lock: Lock }> {
  const setting = virtualSetting(count, { retryJitter: 0, ...options });
  const lock = await setting.time.run(setting.redlock.acquire("r", ttl));
  for (const node of setting.nodes) node.sent.length = 0;
  return { ...setting, lock };
}

/** When each extension was sent to the first master. */
function extensionsAt({ nodes }: VirtualSetting): number[] {
  return nodes[0]!.sent.filter(({ kind }) => kind === "extend").map(({ at }) => at);
}

describe("an extension", () => {
  test("keeps the token, and counts from before its send", async () => {
    const { time, nodes, masters, lock, redlock } = await held();
    await time.advance(498);
    const begun = time.now();
    expect(await time.run(lock.extend(5000))).toBe(lock);
    expect(lock.remaining()).toBeCloseTo(worthOf5000 - (time.now() - begun), 6);
    for (const node of nodes)
      expect(node.sent).toMatchObject([{ kind: "extend", token: lock.value, ttl: 5000 }]);
    for (const master of masters) expect(master.remaining("r")).toBeGreaterThan(4990);
    expect(await time.run(redlock.extend(lock, 5000))).toBe(lock);
  });

  test("may be shorter than the minimumValidity of the constructor, which is for acquire", async () => {
    const { time, lock } = await held(3, 5000, { minimumValidity: 2000 });
    expect(await time.run(lock.extend(1000))).toBe(lock);
  });

  test("asks all masters at once and resolves at a quorum", async () => {
    const { time, nodes, lock } = await held(5);
    for (const [index, fromMaster] of [10, 20, 30, 40, 400].entries()) nodes[index]!.fromMaster = fromMaster;
    expect(await time.measure(lock.extend(10_000))).toMatchObject({ took: 31, error: undefined });
  });

  test("counts answers that arrive after the quorum's", async () => {
    const setting = await held();
    const { time, nodes, masters } = setting;
    const lock = await resumedHere(setting, setting.lock);
    nodes[2]!.fromMaster = 30;
    await time.run(lock.extend(5000));
    await time.advance(50);
    masters[0]!.forget();
    await time.run(lock.verify());
    expect(lock.remaining()).toBeGreaterThan(4500);
  });

  test("adds its votes to the lock's attempts", async () => {
    const { time, nodes, lock } = await held();
    const before = await time.run(lock.attempts[0]!);
    nodes[0]!.cut();
    await time.run(lock.extend(5000));
    expect(lock.attempts).toHaveLength(1);
    const stats = await time.run(lock.attempts[0]!);
    expect(stats).not.toBe(before);
    expect(stats.votesFor.size).toBe(2);
    expect([...stats.votesAgainst.keys()]).toEqual([nodes[0]!.client]);
  });

  test("of a released lock rejects, and sends nothing", async () => {
    const { time, nodes, lock } = await held();
    await time.run(lock.release());
    for (const node of nodes) node.sent.length = 0;
    const { error } = await time.measure(lock.extend(5000));
    expect(error).toBeInstanceOf(LockLostError);
    expect((error as Error).message).toContain("it was released");
    for (const node of nodes) expect(node.sent).toEqual([]);
  });

  test("of a lock that expired in a blocked event loop sends nothing", async () => {
    const { time, machine, nodes, lock } = await held();
    machine.block(1000);
    const { error } = await time.measure(lock.extend(5000));
    expect(error).toBeInstanceOf(LockLostError);
    for (const node of nodes) expect(node.sent).toEqual([]);
  });

  test("of a lock that expired in a suspension sends nothing, and repairs nothing", async () => {
    const { time, machine, nodes, masters, lock } = await held();
    machine.suspend(1100);
    expect(masters[0]!.owner("r")).toBeUndefined();
    expect((await time.measure(lock.extend(5000))).error).toBeInstanceOf(LockLostError);
    for (const node of nodes) expect(node.sent).toEqual([]);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
  });
});

describe("a majority before the deadline", () => {
  test("a reply that comes later does not revive the lock", async () => {
    const { time, nodes, lock } = await held(3, 1000, { nodeTimeout: 300 });
    for (const node of nodes) node.fromMaster = 200;
    await time.advance(900);
    const { error } = await time.measure(lock.extend(5000));
    expect(error).toBeInstanceOf(LockLostError);
    await time.advance(400);
    expect([lock.state, lock.remaining()]).toEqual(["lost", 0]);
  });

  test("a reply that a blocked event loop reads late does not either", async () => {
    const { time, machine, lock } = await held();
    await time.advance(500);
    const extending = lock.extend(5000);
    await settle();
    machine.block(600);
    const { error } = await time.measure(extending);
    expect(error).toBeInstanceOf(LockLostError);
    expect(lock.state).toBe("lost");
  });

  test("a reply that a suspended machine reads when it wakes up does not either", async () => {
    const { time, machine, lock } = await held();
    const extending = lock.extend(5000);
    await settle();
    machine.suspend(1100);
    expect((await time.measure(extending)).error).toBeInstanceOf(LockLostError);
  });

  test("one yes before the deadline and one after it are not a majority", async () => {
    const { time, nodes, lock } = await held(3, 1000, { nodeTimeout: 300 });
    nodes[1]!.fromMaster = 200;
    nodes[2]!.hang();
    await time.advance(900);
    expect((await time.measure(lock.extend(5000))).error).toBeInstanceOf(LockLostError);
    await time.advance(400);
    expect(lock.remaining()).toBe(0);
  });

  test("counts even shortly before the deadline", async () => {
    const { time, lock } = await held();
    await time.advance(970);
    expect(await time.measure(lock.extend(1000))).toMatchObject({ took: 2, error: undefined });
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - 2, 6);
  });
});

describe("repair", () => {
  test("sets the key again on a master that lost it, before the deadline", async () => {
    const { time, nodes, masters, lock } = await held();
    masters[0]!.forget();
    await time.run(lock.extend(5000));
    for (const node of nodes) expect(node.sent).toMatchObject([{ repair: true }]);
    await time.advance(5);
    for (const master of masters) expect(master.owner("r")).toBe(lock.value);
  });

  test("overwrites no foreign key", async () => {
    const { time, masters, lock } = await held();
    masters[0]!.put("r", "rival");
    await time.run(lock.extend(5000));
    expect(masters.map((master) => master.owner("r"))).toEqual(["rival", lock.value, lock.value]);
  });

  test("ends when the lock is detached, even if it is resumed here", async () => {
    const setting = await held();
    const { time, nodes, masters } = setting;
    const lock = await resumedHere(setting, setting.lock);
    masters[0]!.forget();
    await time.run(lock.extend(5000));
    for (const node of nodes) expect(node.sent).toMatchObject([{ repair: false }]);
    expect(masters[0]!.owner("r")).toBeUndefined();
  });
});

describe("two extensions at a time", () => {
  test("alternate round by round: neither waits until the other gives up", async () => {
    const { time, nodes, lock, redlock } = await held(3, 5000, { retryDelay: 100, nodeTimeout: 50 });
    for (const node of nodes) node.hang();
    const patient = time.measure(redlock.extend(lock, 5000, { retryCount: 10 }));
    const hasty = await time.measure(redlock.extend(lock, 5000, { retryCount: 0 }));
    expect(hasty.took).toBe(100);
    expect(hasty.error).toMatchObject({ code: "NO_QUORUM" });
    expect((await patient).took).toBeGreaterThan(1000);
    // Never two rounds at a time.
    const sent = extensionsAt({ nodes } as unknown as VirtualSetting);
    for (const [index, at] of sent.slice(1).entries()) expect(at - sent[index]!).toBeGreaterThanOrEqual(50);
  });
});

describe("refusals and missing answers", () => {
  test("a majority that refuses ends the lease at once", async () => {
    const { time, nodes, masters, lock, client } = await held();
    nodes[2]!.hang();
    for (const master of masters.slice(0, 2)) master.put("r", "rival");
    const { took, error } = await time.measure(lock.extend(5000));
    expect(error).toBeInstanceOf(LockLostError);
    expect((error as Error).message).toContain("a majority of masters");
    expect(took).toBe(2);
    expect([lock.state, lock.remaining(), lock.signal.aborted]).toEqual(["lost", 0, true]);
    expect(client.lost).toEqual([lock]);
  });

  test("without a majority of answers the lock is unknown until the deadline decides", async () => {
    const { time, nodes, lock, client } = await held(3, 1000, { nodeTimeout: 50 });
    for (const node of nodes) node.hang();
    const { took, error } = await time.measure(lock.extend(5000));
    expect(took).toBe(50);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).not.toBeInstanceOf(LockLostError);
    expect((error as Error).message).toContain("master-0: TIMEOUT");
    expect(lock.state).toBe("unknown");
    expect(lock.remaining()).toBeCloseTo(worthOf1000 - time.now(), 6);
    expect(client.lost).toEqual([]);
    await time.advance(1000);
    expect(lock.state).toBe("lost");
    expect(client.lost).toEqual([lock]);
  });

  test("an unknown lock that is confirmed is held again", async () => {
    const { time, nodes, lock } = await held(3, 1000, { nodeTimeout: 50 });
    for (const node of nodes) node.hang();
    await time.measure(lock.extend(1000));
    for (const node of nodes) node.resume();
    await time.run(lock.extend(1000));
    expect(lock.state).toBe("held");
  });

  test("one refusal and one missing answer are not a majority of refusals", async () => {
    const { time, nodes, masters, lock } = await held(3, 1000, { nodeTimeout: 50 });
    masters[0]!.put("r", "rival");
    nodes[1]!.hang();
    nodes[2]!.hang();
    const { took, error } = await time.measure(lock.extend(5000));
    expect(error).not.toBeInstanceOf(LockLostError);
    expect(took).toBe(50);
    expect(lock.state).toBe("unknown");
    expect(lock.remaining()).toBeGreaterThan(900);
  });

  test("a lost connection is a missing answer, not a refusal", async () => {
    const { time, nodes, lock } = await held();
    for (const node of nodes) node.cut();
    expect((await time.measure(lock.extend(5000))).error).toBeInstanceOf(ExecutionError);
    expect(lock.state).toBe("unknown");
    expect(lock.remaining()).toBeGreaterThan(900);
  });
});

describe("a retry", () => {
  test("is made up to retryCount times, before the deadline", async () => {
    const setting = await held(3, 5000, { retryCount: 2, retryDelay: 100, nodeTimeout: 50 });
    for (const node of setting.nodes) node.hang();
    const { error } = await setting.time.measure(setting.lock.extend(5000));
    expect((error as ExecutionError).attempts).toHaveLength(3);
    expect(extensionsAt(setting)).toEqual([2, 152, 302]);
  });

  test("comes sooner the less time remains, and none after the deadline", async () => {
    const setting = await held(3, 1000, { retryCount: -1, retryDelay: 10_000, nodeTimeout: 50 });
    for (const node of setting.nodes) node.cut();
    const { error } = await setting.time.measure(setting.lock.extend(5000));
    expect(error).toBeInstanceOf(LockLostError);
    expect(setting.time.now()).toBeLessThanOrEqual(worthOf1000);
    expect((error as ExecutionError).attempts.length).toBeGreaterThan(10);
    expect((error as ExecutionError).attempts.length).toBeLessThan(40);
  });

  test("succeeds when the masters are back", async () => {
    const setting = await held(3, 1000, { retryCount: -1, retryDelay: 100, nodeTimeout: 50 });
    for (const node of setting.nodes) node.cut();
    const extending = setting.lock.extend(1000);
    await setting.time.advance(350);
    for (const node of setting.nodes) node.restore();
    const begun = setting.time.now();
    await setting.time.run(extending);
    expect(setting.time.now() - begun).toBeLessThanOrEqual(102);
    expect(setting.lock.remaining()).toBeCloseTo(worthOf1000 - 2, 6);
  });

  test.each(["held", "resumed"])(
    "of a %s lock ends in the time that it had at the call, although late answers prolong it",
    async (which) => {
      const setting = await held(3, 1000, { retryCount: -1, retryDelay: 10, nodeTimeout: 50 });
      const lock = which === "held" ? setting.lock : await resumedHere(setting, setting.lock);
      for (const node of setting.nodes) node.fromMaster = 60;
      let error: unknown;
      lock.extend(1000).catch((reason: unknown) => {
        error = reason;
      });
      await setting.time.advance(900);
      expect(error).toBeUndefined();
      await setting.time.advance(200);
      expect(error).toBeInstanceOf(ExecutionError);
      expect(error).not.toBeInstanceOf(LockLostError);
      expect(lock.remaining()).toBeGreaterThan(800);
    },
  );

  test("does not wait any longer when the lock is lost", async () => {
    const setting = await held(3, 1000, { retryCount: -1, backoff: () => 200, nodeTimeout: 50 });
    for (const node of setting.nodes) node.cut();
    const extending = setting.lock.extend(1000);
    extending.catch(() => {});
    await setting.time.advance(100);
    setting.machine.stepWall(5000);
    expect(setting.lock.state).toBe("lost");
    expect((await setting.time.measure(extending)).took).toBe(0);
  });
});

describe("several at once", () => {
  test("one extension at a time, in the order of the calls", async () => {
    const setting = await held();
    const { time, lock } = setting;
    const both = Promise.all([lock.extend(2000), lock.extend(3000), lock.extend(4000)]);
    expect(await time.measure(both)).toMatchObject({ took: 6, error: undefined });
    expect(setting.nodes[0]!.sent.map(({ ttl, at }) => [ttl, at])).toEqual([
      [2000, 2],
      [3000, 4],
      [4000, 6],
    ]);
  });

  test("a failed extension does not block the next one", async () => {
    const { time, nodes, lock } = await held(3, 1000, { nodeTimeout: 50 });
    for (const node of nodes) node.hang();
    const first = lock.extend(2000);
    first.catch(() => {});
    const second = lock.extend(3000);
    await time.advance(60);
    for (const node of nodes) node.resume();
    await expect(time.run(first)).rejects.toThrow(ExecutionError);
    await time.run(second);
    expect(lock.remaining()).toBeGreaterThan(2900);
  });

  test("a release ends the extension at once, and nothing is sent after it", async () => {
    const { time, nodes, masters, lock } = await held(3, 1000, { retryCount: -1, retryDelay: 10 });
    for (const node of nodes) node.fromMaster = 40;
    const extending = lock.extend(5000);
    const waiting = lock.extend(5000);
    for (const one of [extending, waiting]) one.catch(() => {});
    await time.advance(5);
    const releasing = lock.release();
    const { took, error } = await time.measure(extending);
    expect(took).toBe(0);
    expect(error).toBeInstanceOf(LockLostError);
    expect((error as Error).message).toContain("it was released");
    expect((await time.measure(waiting)).error).toBeInstanceOf(LockLostError);
    await time.run(releasing);
    await time.advance(200);
    for (const node of nodes) expect(node.kinds).toEqual(["extend", "release"]);
    for (const master of masters) expect(master.owner("r")).toBeUndefined();
    expect([lock.state, lock.remaining()]).toEqual(["released", 0]);
  });

  test("an extension that waits for a connection is not sent after the release", async () => {
    const { time, nodes, lock } = await held(3, 1000, { nodeTimeout: 50 });
    for (const node of nodes) node.connectIn(100);
    const extending = lock.extend(5000);
    extending.catch(() => {});
    await time.advance(10);
    await time.run(lock.release());
    await time.advance(200);
    for (const node of nodes) expect(node.kinds).toEqual(["release"]);
  });

  test("a late yes of an extension does not revive a released lock", async () => {
    const { time, nodes, lock } = await held();
    for (const node of nodes) node.fromMaster = 40;
    lock.extend(5000).catch(() => {});
    await time.advance(5);
    await time.run(lock.release());
    await time.advance(100);
    expect([lock.state, lock.remaining()]).toEqual(["released", 0]);
  });
});
