import { inspect } from "node:util";
import {
  type DetachedLock,
  InvalidArgumentError,
  type Lock,
  LockLostError,
  Redlock,
} from "@quorlock/redlock";
import { leaveScript, RedisNode } from "@quorlock/redlock/internal";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";
import { LateConnection } from "../fleet/late-connection.ts";

// PROTOCOL 7.18.

// PROTOCOL 5.5 to 5.10: a lock that is given away is the receiver's alone from then on.

const fleet = Fleet.forTests(3);

const ttl = 30_000;
const patient = { retryCount: -1 };

/** As it travels to another process. */
async function give(lock: Lock): Promise<DetachedLock> {
  return JSON.parse(JSON.stringify(await lock.detach())) as DetachedLock;
}

/** Until `count` entries are in the queue of each of these masters. */
async function untilQueued(
  resource: string,
  count: number,
  admins = fleet.admins,
  timeout?: number,
): Promise<void> {
  for (const admin of admins) {
    const queued = async () => (await admin.zcard(`quorlock:queue:{${resource}}`)) === count;
    await until(`${count} are in the queue of "${resource}"`, queued, timeout);
  }
}

/** Until the key is on each of the masters under the token. */
async function untilAllHave(resource: string, token: string, admins = fleet.admins): Promise<void> {
  for (const admin of admins) {
    await until(`"${resource}" is ${token}`, async () => (await admin.get(resource)) === token);
  }
}

/** Owns a key in between: a release by `leaveScript` grants it to the first in the queue. */
const passerBy = `${"0123456789abcdef".repeat(2)}.1`;

/**
 * A giver that was granted its lock by the first two masters. On the third one its queue entry is behind another
 * client's, and the test decides when the grant arrives.
 */
async function granted(resource: string, callers = 1) {
  const connections = fleet.open().clients.map((client) => new LateConnection(client));
  const nodes = connections.map((connection) => new RedisNode(connection));
  const giver = new Redlock(nodes, { ...patient, nodeTimeout: 250 });
  await fleet.warmUp({ redlock: giver, clients: nodes });
  const { redlock: receiver } = await fleet.openWarm({ nodeTimeout: 250 });
  const third = connections[2]!;
  const held = await fleet.hold(resource, ttl);
  const locks = Array.from({ length: callers }, () => giver.acquire(resource, ttl));
  await untilQueued(resource, 1);
  await fleet.untilListening(1);
  third.isLate = true;
  await fleet.admins[2]!.set(resource, passerBy, "PX", ttl);
  await held.release();
  const first = await locks[0]!;
  return {
    giver,
    receiver,
    locks,
    first,
    /** The third master grants its key to the giver's entry. */
    grantByThird: async () => {
      await fleet.admins[2]!.evalsha(leaveScript.sha1, 1, resource, passerBy);
      await until("the third master has granted its key", () => third.held.length > 0);
    },
    hear: async () => {
      for (const hear of third.held.splice(0)) hear();
      // The commands for that are sent before this question.
      await giver.inspect(resource);
    },
  };
}

/** Extends a lock by the votes of all three masters. */
async function extendByAll(lock: Lock): Promise<void> {
  await lock.extend(ttl);
  const [votes] = await Promise.all(lock.attempts);
  expect(votes!.votesFor.size).toBe(3);
}

describe("a master's late grant to a lock that was detached", () => {
  it.each([
    ["it was sent before the detach and arrives after it", false],
    ["it arrives while the lock is being detached", true],
  ])("stays its vote when %s", async (_, isEarly) => {
    const resource = fresh();
    const { first, receiver, grantByThird, hear } = await granted(resource);
    await grantByThird();
    const giving = give(first);
    if (isEarly) await hear();
    const lock = receiver.resume(await giving);
    await extendByAll(lock);
    await hear();
    expect(await fleet.values(resource)).toEqual([lock.value, lock.value, lock.value]);
    await lock.release();
    await fleet.untilGone(resource);
  });

  it("stays its vote when the lock was handed off as it is before, within the same process", async () => {
    const resource = fresh();
    const { first, locks, receiver, grantByThird, hear } = await granted(resource, 2);
    const token = await fleet.admins[0]!.get(resource);
    await first.release();
    const lock = receiver.resume(await give(await locks[1]!));
    expect(lock.value).toBe(token);
    await grantByThird();
    await extendByAll(lock);
    await hear();
    expect(await fleet.values(resource)).toEqual([token, token, token]);
    await lock.release();
    await fleet.untilGone(resource);
  });

  it.each([
    ["by the same Redlock", (_: Redlock, giver: Redlock) => giver],
    ["by another one", (receiver: Redlock) => receiver],
  ])("stays the vote of a lock that is resumed %s, detached again, and resumed once more", async (_, by) => {
    const resource = fresh();
    const { first, giver, receiver, grantByThird, hear } = await granted(resource);
    const passed = by(receiver, giver).resume(await give(first));
    await passed.verify();
    const lock = giver.resume(await give(passed));
    expect(passed.state).toBe("detached");
    await grantByThird();
    await extendByAll(lock);
    await hear();
    expect(await fleet.values(resource)).toEqual([lock.value, lock.value, lock.value]);
    expect((await lock.release()).outcome).toBe("released");
    await fleet.untilGone(resource);
  });

  it("stays the receiver's vote when the giver quits", async () => {
    const resource = fresh();
    const { first, giver, receiver, grantByThird, hear } = await granted(resource);
    const lock = receiver.resume(await give(first));
    await grantByThird();
    await extendByAll(lock);
    const quitting = giver.quit();
    await hear().catch(() => {});
    await quitting;
    expect(await fleet.values(resource)).toEqual([lock.value, lock.value, lock.value]);
    await lock.release();
    await fleet.untilGone(resource);
  });
});

describe("waiters in the process that detaches a lock", () => {
  it("are granted it as soon as the receiver releases it", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const { redlock: receiver } = await fleet.openWarm();
    const held = await fleet.hold(resource, ttl);
    const locks = Array.from({ length: 3 }, () => redlock.acquire(resource, ttl));
    await untilQueued(resource, 1);
    await fleet.untilListening(1);
    await held.release();
    // On a master without the key the next one would hold it, and wait in the queues of the others alone.
    const first = await locks[0]!;
    await fleet.untilHeld(first);
    const lock = receiver.resume(await give(first));
    await lock.extend(ttl);
    // The next one stands up at the detach, and so is in every queue when the lock is released.
    await untilQueued(resource, 1);
    await lock.release();
    const { result: next, net } = await timed(() => locks[1]!);
    expect(net).toBeLessThan(1000);
    await next.release();
    await (await locks[2]!).release();
    await fleet.untilGone(resource);
  });

  it("wait for the receiver, and not for each other, when every lock is detached", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const { redlock: receiver } = await fleet.openWarm();
    const held = await fleet.hold(resource, ttl);
    const locks = Array.from({ length: 6 }, () => redlock.acquire(resource, ttl));
    await untilQueued(resource, 1);
    await held.release();
    let holders = 0;
    const { net } = await timed(async () => {
      for (const waiting of locks) {
        const lock = receiver.resume(await give(await waiting));
        await lock.extend(ttl);
        holders += 1;
        expect(holders).toBe(1);
        holders -= 1;
        await lock.release();
      }
    });
    expect(net).toBeLessThan(5000);
    await fleet.untilGone(resource);
  });
});

describe("a lock that was detached", () => {
  it("has ended in this process, and nowhere else", async () => {
    const resource = fresh();
    const { redlock } = await fleet.openWarm();
    const lost: Lock[] = [];
    redlock.on("lost", (lock) => lost.push(lock));
    const lock = await redlock.acquire(resource, ttl);
    const { signal } = lock;
    const detaching = lock.detach();
    expect([lock.state, lock.remaining(), lock.expiration]).toEqual(["detached", 0, 0]);
    const detached = await detaching;
    expect(detached).toEqual({ resources: [resource], value: lock.value, ttl });
    for (const work of [lock.extend(ttl), redlock.extend(lock, ttl), lock.detach()]) {
      const error = (await rejection(work)) as LockLostError;
      expect(error).toBeInstanceOf(LockLostError);
      expect(error.why).toBe("it was detached");
    }
    expect(await lock.verify()).toBe(false);
    expect(await lock.release()).toMatchObject({ outcome: "detached", attempts: [] });
    await lock[Symbol.asyncDispose]();
    await redlock.quit();
    expect([signal.aborted, lost]).toEqual([false, []]);
    expect(await fleet.values(resource)).toEqual([lock.value, lock.value, lock.value]);
    const resumed = fleet.open().redlock.resume(detached);
    expect(await resumed.verify()).toBe(true);
    expect((await resumed.release()).outcome).toBe("released");
  });

  it("cannot be one that has ended before", async () => {
    const { redlock } = await fleet.openWarm({ nodeTimeout: 50 });
    const released = await redlock.acquire(fresh(), ttl);
    await released.release();
    expect(await rejection(released.detach())).toMatchObject({ code: "LOCK_LOST", why: "it was released" });
    const late = await redlock.acquire(fresh(), 200);
    await until("its time is over", () => late.remaining() === 0);
    expect(await rejection(late.detach())).toMatchObject({ code: "LOCK_LOST", why: late.signal.reason.why });
  });

  it("resolves after all commands for the lock are answered, at the latest after one nodeTimeout", async () => {
    const resource = fresh();
    const nodeTimeout = 1000;
    const { redlock } = await fleet.openWarm({ nodeTimeout });
    const lock = await redlock.acquire(resource, ttl);
    await untilAllHave(resource, lock.value);
    const [first] = fleet.masters;
    await first!.hang();
    try {
      await lock.extend(ttl);
      // (The extension is decided, but the silent master has it still before it.)
      const { took, net } = await timed(() => lock.detach());
      expect(took).toBeGreaterThan(nodeTimeout - 50);
      expect(net).toBeLessThan(nodeTimeout + 600);
    } finally {
      await first!.resume();
    }
  });

  it("is given no key again by an extension that is under way", async () => {
    const resource = fresh();
    const { redlock } = await fleet.openWarm({ nodeTimeout: 300, retryCount: -1 });
    const lock = await redlock.acquire(resource, ttl);
    await untilAllHave(resource, lock.value);
    const [first, second] = fleet.masters;
    const hung = [first!, second!];
    for (const master of hung) await master.hang();
    const extending = rejection(lock.extend(ttl));
    let detached!: DetachedLock;
    try {
      detached = await lock.detach();
      expect(await extending).toMatchObject({ code: "LOCK_LOST", why: "it was detached" });
    } finally {
      for (const master of hung) await master.resume();
    }
    const receiver = fleet.open().redlock;
    // Both answer the earlier commands of the detaching client before this one.
    await redlock.inspect(resource);
    expect((await receiver.resume(detached).release()).outcome).toBe("released");
    await fleet.untilGone(resource);
    await redlock.inspect(resource);
    expect(await fleet.values(resource)).toEqual([null, null, null]);
  });

  it("is not one that others in this process are inside of", async () => {
    const resource = fresh();
    const { redlock } = await fleet.openWarm({ reentrant: true });
    const receiver = fleet.open().redlock;
    const outer = await redlock.acquire(resource, ttl);
    const inner = await redlock.acquire(resource, ttl, { parent: outer });
    for (const lock of [outer, inner]) {
      const error = await rejection(lock.detach());
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(String(error)).toContain("shares its lease with other handles");
      expect(lock.state).toBe("held");
    }
    await outer.release();
    expect(await rejection(outer.detach())).toMatchObject({ why: "it was released" });
    const resumed = receiver.resume(await give(inner));
    expect([inner.state, outer.state]).toEqual(["detached", "released"]);
    expect(await rejection(inner.extend(ttl))).toMatchObject({ why: "it was detached" });
    expect((await inner.release()).outcome).toBe("detached");
    expect(inner.state).toBe("detached");
    expect(await rejection(redlock.acquire(resource, ttl, { parent: inner }))).toBeInstanceOf(LockLostError);
    expect(await resumed.verify()).toBe(true);
    await resumed.release();
    await fleet.untilGone(resource);
  });
});

/** All that a logger may do with a value. */
const written = (value: unknown) => [
  JSON.stringify(value),
  inspect(value),
  inspect(value, { depth: 20, showHidden: true, getters: true }),
];

describe("a lock that is logged", () => {
  it("shows what is known of it, and no token", async () => {
    const resource = fresh();
    const { redlock } = await fleet.openWarm({ fencing: true });
    const lock = await redlock.acquire(resource, ttl);
    const before = lock.remaining();
    const { lock: shown } = JSON.parse(JSON.stringify({ lock }));
    expect(Object.keys(shown).sort()).toEqual(["expiration", "remaining", "resources", "state"]);
    expect(shown).toMatchObject({ resources: [resource], state: "held" });
    expect(shown.remaining).toBeLessThanOrEqual(before);
    expect(shown.remaining).toBeGreaterThan(ttl * 0.9);
    expect(Math.abs(shown.expiration - Date.now() - shown.remaining)).toBeLessThan(1000);
    expect(inspect({ lock })).toMatch(/Lock \{\s+resources: \[ 'resource-\d+' \],\s+state: 'held'/);
    for (const text of written({ lock })) expect(text).not.toContain(lock.value);
    await lock.release();
    expect(JSON.parse(JSON.stringify(lock))).toEqual({
      resources: [resource],
      state: "released",
      remaining: 0,
      expiration: 0,
    });
  });

  it("is still given up by quit", async () => {
    const resource = fresh();
    const { redlock } = await fleet.openWarm();
    const lock = await redlock.acquire(resource, ttl);
    written(lock);
    await redlock.quit();
    await fleet.untilGone(resource);
  });

  it("can still be handed off as it is within the process", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const [first, second] = [redlock.acquire(resource, ttl), redlock.acquire(resource, ttl)];
    await untilQueued(resource, 1);
    await held.release();
    const lock = await first;
    const token = await fleet.admins[0]!.get(resource);
    written(lock);
    await lock.release();
    expect((await second).value).toBe(token);
    await (await second).release();
  });
});
