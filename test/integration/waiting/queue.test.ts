import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Lock, LockLostError, Redlock, ResourceLockedError } from "@quorlock/redlock";
import { leaveScript, RedisNode } from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";
import { LateConnection } from "../fleet/late-connection.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// PROTOCOL 5.4, 7.10, 7.11, 7.13, 7.16, 7.17.

const fleet = Fleet.forTests(3);

const ttl = 30_000;
const patient = { retryCount: -1 };

const failing = () => {
  throw new Error("this backoff fails");
};

/**
 * The token, once all masters have the key under the same one. (Not by the lock's `value`: a hold that was asked for it
 * is not passed on as it is.)
 */
async function tokenOnAll(resource: string): Promise<string> {
  let values: readonly (string | null)[] = [];
  await until(
    () => `its key is everywhere and the same, but: ${values.join(", ")}`,
    async () => {
      values = await fleet.values(resource);
      return values[0] !== null && values.every((value) => value === values[0]);
    },
  );
  return values[0]!;
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** Several clients, each of which waits for `resource`, in this order. To the masters they are separate processes. */
async function waiters(
  count: number,
  resource: string | string[],
): Promise<{ served: number[]; locks: Promise<Lock>[] }> {
  const served: number[] = [];
  const locks: Promise<Lock>[] = [];
  for (let index = 0; index < count; index += 1) {
    const { redlock } = fleet.open(patient);
    const waiting = redlock.acquire(resource, ttl);
    void waiting.then(() => served.push(index));
    locks.push(waiting);
    await fleet.untilWaiting([resource].flat()[0]!, index + 1);
  }
  return { served, locks };
}

describe("waiters", () => {
  it("are served in the order of arrival", async () => {
    const resource = fresh();
    const held = await fleet.hold(resource, ttl);
    const { served, locks } = await waiters(4, resource);
    expect(served).toEqual([]);
    await held.release();
    for (const [index, waiting] of locks.entries()) {
      const lock = await waiting;
      expect(served).toEqual(Array.from({ length: index + 1 }, (_, place) => place));
      expect(lock.remaining()).toBeGreaterThan(ttl * 0.9);
      await lock.release();
    }
    await fleet.untilGone(resource);
  });

  it("send one command to each master, and are notified by the release", async () => {
    const resource = fresh();
    await fleet.teachScripts();
    const held = await fleet.hold(resource, ttl);
    // One master alone: of several, who answers after a quorum is asked less, or is told that the vote is given up.
    const { redlock } = fleet.open({ ...patient, on: fleet.masters.slice(0, 1) });
    await using tap = await WireTap.on(fleet.admins[0]!);
    const waiting = redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 1, fleet.admins.slice(0, 1));
    const { result: lock, net } = await timed(async () => {
      await held.release();
      return waiting;
    });
    // (No heartbeat is due within the first quarter of a second.)
    expect(net).toBeLessThan(200);
    const asked = (await tap.commands()).filter(
      ({ words, source }) => source !== "lua" && words.includes(resource) && /^(SET|EVAL)/.test(words[0]!),
    );
    // The refused SET, the query of the owner, the queue entry, and the release.
    expect(asked.map(({ words }) => words[0])).toEqual(["SET", "EVALSHA", "EVALSHA", "EVALSHA"]);
    await lock.release();
  });

  it("leave the queue when they are aborted, and the next one is served", async () => {
    const resource = fresh();
    const held = await fleet.hold(resource, ttl);
    const abort = new AbortController();
    const impatient = rejection(fleet.open(patient).redlock.acquire(resource, ttl, { signal: abort.signal }));
    await fleet.untilWaiting(resource, 1);
    const next = fleet.open(patient).redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 2);
    abort.abort(new Error("enough"));
    expect(await impatient).toHaveProperty("code", "ABORTED");
    await fleet.untilWaiting(resource, 1);
    await held.release();
    await (await next).release();
    await fleet.untilGone(resource);
  });

  it.each([
    ["waitTimeout", { waitTimeout: 300 }, 300],
    ["the time that the retries would take", { retryCount: 3, retryDelay: 100, retryJitter: 0 }, 300],
  ])("give up after %s, and leave nothing behind", async (_, options, limit) => {
    const resource = fresh();
    await using held = await fleet.hold(resource, ttl);
    expect(held.state).toBe("held");
    const {
      result: error,
      took,
      net,
    } = await timed(() => rejection(fleet.open().redlock.acquire(resource, ttl, options)));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(took).toBeGreaterThan(limit - 10);
    expect(net).toBeLessThan(limit + 900);
    await fleet.untilWaiting(resource, 0);
  });

  it("are skipped when their connections are lost", async () => {
    const resource = fresh();
    const held = await fleet.hold(resource, ttl);
    const dead = fleet.open(patient);
    void dead.redlock.acquire(resource, ttl).catch(() => {});
    await fleet.untilWaiting(resource, 1);
    const next = fleet.open(patient).redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 2);
    await fleet.untilListening(2);
    for (const client of dead.clients) client.disconnect();
    await fleet.untilListening(1);
    const { net } = await timed(async () => {
      await held.release();
      return next;
    });
    expect(net).toBeLessThan(900);
    await (await next).release();
  });

  it("get the lock of a crashed holder when it expires", async () => {
    const resource = fresh();
    const { redlock } = fleet.open();
    const {
      result: lock,
      took,
      net,
    } = await timed(async () => {
      await fleet.occupy(resource, fleet.masters, 600, "0123456789abcdef0123456789abcdef.1");
      return redlock.acquire(resource, ttl, patient);
    });
    expect(took).toBeGreaterThan(590);
    expect(net).toBeLessThan(1500);
    await lock.release();
  });

  it("poll while the holder is a client without the queue", async () => {
    const resource = fresh();
    const { redlock } = fleet.open({ retryCount: -1, retryDelay: 30, retryJitter: 0 });
    await fleet.occupy(resource, fleet.masters, 60_000);
    const waiting = redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 1);
    await fleet.free(resource);
    const { result: lock, net } = await timed(() => waiting);
    expect(net).toBeLessThan(900);
    await lock.release();
  });
});

describe("several resources", () => {
  it("are waited for together, and no client that wants one of them gets it in between", async () => {
    const [first, second] = [fresh(), fresh()];
    const [heldFirst, heldSecond] = [await fleet.hold(first, ttl), await fleet.hold(second, ttl)];
    const { served, locks } = await waiters(1, [first, second]);
    const later = fleet.open(patient).redlock.acquire(first, ttl);
    await fleet.untilWaiting(first, 2);
    await heldFirst.release();
    // Free, but reserved: the later client, which wants only this one, does not get it.
    await fleet.untilWaiting(first, 2);
    expect(await fleet.open().redlock.tryAcquire(first, ttl)).toBeNull();
    expect(served).toEqual([]);
    await heldSecond.release();
    const both = await locks[0]!;
    await fleet.untilHeld(both);
    await both.release();
    await (await later).release();
    await fleet.untilGone(first);
    await fleet.untilGone(second);
  });
});

describe("waiters of one process", () => {
  it("share one queue entry, and hand the lock off among them", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const served: number[] = [];
    const locks = Array.from({ length: 5 }, (_, index) => {
      const waiting = redlock.acquire(resource, ttl);
      void waiting.then(() => served.push(index));
      return waiting;
    });
    await fleet.untilWaiting(resource, 1);
    await held.release();
    let before: Lock | undefined;
    const tokens = new Set<string>();
    for (const [index, waiting] of locks.entries()) {
      const lock = await waiting;
      expect(served).toHaveLength(index + 1);
      tokens.add(await tokenOnAll(resource));
      // A lease that was handed off has ended: its handle is released, and cannot affect the next one.
      if (before) {
        expect(before.state).toBe("released");
        expect(lock.remaining()).toBeGreaterThan(ttl * 0.85);
        expect(await rejection(before.extend(ttl))).toBeInstanceOf(LockLostError);
        expect(await before.verify()).toBe(false);
      }
      expect((await lock.release()).outcome).toBe("released");
      before = lock;
    }
    expect(served).toEqual([0, 1, 2, 3, 4]);
    // While most of its time is left it is handed off as it is, and nothing is sent.
    expect(tokens.size).toBe(1);
    await fleet.untilGone(resource);
  });

  it.each([
    [
      "much of whose time has passed",
      async (lock: Lock) => until("it is not fresh", () => lock.remaining() < 850),
    ],
    ["whose value was read", async (lock: Lock) => void lock.value],
  ])("ask the masters behind a hold %s", async (_, act) => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const [first, second] = [redlock.acquire(resource, 1000), redlock.acquire(resource, 1000)];
    await fleet.untilWaiting(resource, 1);
    await held.release();
    const one = await first;
    const token = await tokenOnAll(resource);
    await act(one);
    expect((await one.release()).outcome).toBe("released");
    const two = await second;
    // Its full ttl again, less the time of the round.
    expect(two.remaining()).toBeGreaterThan(850);
    expect(await tokenOnAll(resource)).not.toBe(token);
    await two.release();
    await fleet.untilGone(resource);
  });

  it("that time out while one of them holds the lock get ResourceLockedError", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const before = redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 1);
    await held.release();
    await (await before).release();
    // It is known to be contended: both go to the queue at once, and the first finds it free there.
    const [first, second] = [
      redlock.acquire(resource, ttl),
      redlock.acquire(resource, ttl, { waitTimeout: 100 }),
    ];
    const lock = await first;
    expect(await rejection(second)).toBeInstanceOf(ResourceLockedError);
    await lock.release();
  });

  it("leave no key on a master that was late for a while", async () => {
    const resource = fresh();
    // Each has its own fencing token, so that every caller asks the masters.
    const { redlock } = fleet.open({ ...patient, fencing: true });
    await (await redlock.acquire(fresh(), ttl)).release();
    const use = async (_: unknown, index: number): Promise<void> => {
      const lock = await redlock.acquire(resource, ttl);
      if (index === 3) void fleet.admins[2]!.call("CLIENT", "PAUSE", "30", "ALL");
      await lock.release();
    };
    await Promise.all(Array.from({ length: 40 }, use));
    await fleet.untilGone(resource);
  });

  it.each([
    ["whose deadlines allow for less drift than requested", ttl, ttl, { driftFactor: 0.05 }],
    ["that lasts longer than requested", 60_000, 30_000, {}],
  ] as const)("take over no lease %s", async (_, lasting, requested, settings) => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const first = redlock.acquire(resource, lasting);
    const second = redlock.acquire(resource, requested, settings);
    await fleet.untilWaiting(resource, 1);
    await held.release();
    const one = await first;
    const token = await tokenOnAll(resource);
    await one.release();
    const two = await second;
    expect(two.remaining()).toBeLessThanOrEqual(requested);
    expect(await tokenOnAll(resource)).not.toBe(token);
    await two.release();
  });

  it("that follow a longer lease keep the key no longer than their own ttl", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const [first, second] = [redlock.acquire(resource, 60_000), redlock.acquire(resource, 10_000)];
    await fleet.untilWaiting(resource, 1);
    await held.release();
    await (await first).release();
    const two = await second;
    await fleet.untilHeld(two);
    for (const left of await fleet.lifetimes(resource)) expect(left).toBeLessThanOrEqual(10_000);
    expect(await two.verify()).toBe(true);
    expect(two.remaining()).toBeLessThanOrEqual(10_000);
    await two.release();
  });

  it("share one queue entry also after one of them has held the lock alone", async () => {
    const resource = fresh();
    const { redlock } = fleet.open(patient);
    const held = await fleet.hold(resource, ttl);
    const first = redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 1);
    await held.release();
    const one = await first;
    const other = fleet.open(patient).redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 1);
    const second = redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 2);
    await one.release();
    const between = await other;
    await fleet.untilWaiting(resource, 1);
    const third = redlock.acquire(resource, ttl);
    // Behind whatever the third sends.
    await redlock.inspect(resource);
    await fleet.untilWaiting(resource, 1);
    await between.release();
    await (await second).release();
    await (await third).release();
  });

  it("let other processes have their turn", async () => {
    const resource = fresh();
    const many = fleet.open(patient).redlock;
    const held = await fleet.hold(resource, ttl);
    const [first, second] = [many.acquire(resource, ttl), many.acquire(resource, ttl)];
    await fleet.untilWaiting(resource, 1);
    const other = fleet.open(patient).redlock.acquire(resource, ttl);
    await fleet.untilWaiting(resource, 2);
    await held.release();
    const one = await first;
    // It was not waiting when the batch began.
    const third = many.acquire(resource, ttl);
    await one.release();
    const two = await second;
    // The third one gets an entry behind the other process.
    await fleet.untilWaiting(resource, 2);
    await two.release();
    const served: string[] = [];
    void other.then(() => served.push("other"));
    void third.then(() => served.push("third"));
    await (await other).release();
    await (await third).release();
    expect(served).toEqual(["other", "third"]);
  });
});

/** Several waiters in one process, the first of which has just been granted the lock. */
async function passers(count: number, resource: string, redlock: Redlock): Promise<Promise<Lock>[]> {
  const held = await fleet.hold(resource, ttl);
  const locks = Array.from({ length: count }, () => redlock.acquire(resource, ttl));
  await fleet.untilWaiting(resource, 1);
  await fleet.untilListening(1);
  await held.release();
  await locks[0];
  return locks;
}

/** The ways in which a token is exposed. */
const told = ({ resources, value }: Lock) => ({ resources, value, ttl });

describe("a lease that is handed off as it is", () => {
  it("keeps the vote of a master whose grant arrives late", async () => {
    const resource = fresh();
    const connections = fleet.open().clients.map((client) => new LateConnection(client));
    const nodes = connections.map((connection) => new RedisNode(connection));
    const redlock = new Redlock(nodes, { ...patient, nodeTimeout: 900 });
    await fleet.warmUp({ redlock, clients: nodes });
    const third = connections[2]!;
    third.isLate = true;
    const [first, second] = await passers(2, resource, redlock);
    await until("the third master has handed its key over", () => third.held.length > 0);
    const token = await tokenOnAll(resource);
    await (await first!).release();
    const lock = await second!;
    await lock.extend(ttl);
    const [extension] = await Promise.all(lock.attempts);
    expect(extension!.votesFor.size).toBe(3);
    for (const hear of third.held) hear();
    // The commands for that are sent before this question.
    await redlock.inspect(resource);
    expect(await fleet.values(resource)).toEqual([token, token, token]);
    expect(lock.state).toBe("held");
    await lock.release();
    await fleet.untilGone(resource);
  });

  it.each(["before", "after"])(
    "has a new value: a copy with the old one, taken %s the release, cannot touch it",
    async (when) => {
      const resource = fresh();
      const [first, second] = await passers(2, resource, fleet.open(patient).redlock);
      const old = await first!;
      const held = told(old);
      await old.release();
      const known = when === "before" ? held : told(old);
      const lock = await second!;
      const token = await tokenOnAll(resource);
      expect(token).not.toBe(known.value);
      const resumed = fleet.open().redlock.resume(known);
      expect(await resumed.verify()).toBe(false);
      expect((await resumed.release()).outcome).not.toBe("released");
      expect(await fleet.values(resource)).toEqual([token, token, token]);
      expect([lock.state, await lock.verify()]).toEqual(["held", true]);
      await lock.release();
      await fleet.untilGone(resource);
    },
  );

  it("shows the votes that won it, at the old handle and at the new one", async () => {
    const resource = fresh();
    const [first, second] = await passers(2, resource, fleet.open(patient).redlock);
    const { outcome, attempts } = await (await first!).release();
    const lock = await second!;
    expect(outcome).toBe("released");
    expect(attempts).toHaveLength(1);
    // (Before that it was refused, when the other one had it.)
    for (const all of [attempts, lock.attempts]) {
      const votes = await all.at(-1);
      expect(votes?.votesFor.size).toBeGreaterThanOrEqual(2);
    }
    await lock.release();
  });

  it("is released by its one token, after any number of hand-offs", async () => {
    const resource = fresh();
    await fleet.teachScripts();
    const locks = await passers(4, resource, fleet.open(patient).redlock);
    const token = await tokenOnAll(resource);
    await using tap = await WireTap.on(fleet.admins[0]!);
    let votes: Lock["attempts"] = [];
    for (const waiting of locks) votes = (await (await waiting).release()).attempts;
    await Promise.all(votes);
    const released = (await tap.commands()).filter(({ words }) => words.includes(resource));
    expect(released.map(({ words }) => words)).toEqual([["EVALSHA", leaveScript.sha1, "1", resource, token]]);
  });
});

/** A Redlock that locks once, waits once and is dropped, as in a program that makes one for each request. */
async function useOnce(clients: readonly Redis[], resource: string): Promise<void> {
  const redlock = new Redlock(clients);
  await (await redlock.acquire(fresh(), ttl)).release();
  // (No `rejects` matcher: the test runner would keep the error alive.)
  const refused = await redlock
    .acquire(resource, ttl, { waitTimeout: 300 })
    .catch((error: Error) => error.name);
  expect(refused).toBe("ResourceLockedError");
}

describe("a Redlock that shares its clients with others", () => {
  it("ends its subscription when it is garbage collected", async () => {
    const resource = fresh();
    const holder = await fleet.hold(resource, ttl);
    const { clients } = fleet.open();
    const listening = () => fleet.admins[0]!.pubsub("CHANNELS", "quorlock:inbox:*") as Promise<string[]>;
    const before = (await listening()).length;
    for (let count = 0; count < 8; count += 1) await useOnce(clients, resource);
    await until("no more are subscribed than before, and one or two", async () => {
      collectGarbage();
      return (await listening()).length <= before + 2;
    });
    // The connection is there, for the next one as well.
    const waiting = new Redlock(clients).acquire(resource, ttl, patient);
    await fleet.untilWaiting(resource, 1);
    await holder.release();
    await (await waiting).release();
  });
});

describe("a caller that does not wait", () => {
  it("has no queue entry", async () => {
    const resource = fresh();
    await using held = await fleet.hold(resource, ttl);
    expect(held.state).toBe("held");
    expect(await fleet.open().redlock.tryAcquire(resource, ttl)).toBeNull();
    await rejection(fleet.open().redlock.acquire(resource, ttl, { retryCount: 0 }));
    expect((await fleet.open().redlock.inspect(resource)).map(({ queueLength }) => queueLength)).toEqual([
      0, 0, 0,
    ]);
  });
});

describe("quit", () => {
  it("ends every wait, and removes the queue entries", async () => {
    const resource = fresh();
    await using held = await fleet.hold(resource, ttl);
    expect(held.state).toBe("held");
    const waiting = fleet.open(patient).redlock;
    const ended = rejection(waiting.acquire(resource, ttl));
    await fleet.untilWaiting(resource, 1);
    await waiting.quit();
    expect(await ended).toHaveProperty("code", "CLOSED");
    await fleet.untilWaiting(resource, 0);
  });
});

describe("a wait", () => {
  it("ends with the error of a backoff that fails, and the next one is served", async () => {
    const resource = fresh();
    const { redlock } = fleet.open();
    await fleet.occupy(resource, fleet.masters, 60_000);
    const failed = rejection(redlock.acquire(resource, ttl, { waitTimeout: 5000, backoff: failing }));
    expect(String(await failed)).toContain("this backoff fails");
    await fleet.free(resource);
    await (await redlock.acquire(resource, ttl, { waitTimeout: 5000 })).release();
  });

  it("leaves no key when quit() is called during a hand-off", async () => {
    const resource = fresh();
    const held = await fleet.hold(resource, ttl);
    const { redlock } = fleet.open(patient);
    const waiting = [redlock.acquire(resource, ttl), redlock.acquire(resource, ttl).catch(() => {})];
    await fleet.untilWaiting(resource, 1);
    await held.release();
    const lock = (await waiting[0]) as Lock;
    void lock.release();
    await redlock.quit();
    await fleet.untilGone(resource);
  });

  it("has a bound from the start, for any number of retries", async () => {
    const resource = fresh();
    await using held = await fleet.hold(resource, ttl);
    expect(held.state).toBe("held");
    const { redlock } = fleet.open({ retryCount: Number.MAX_SAFE_INTEGER, retryDelay: 0, retryJitter: 0 });
    const { net } = await timed(() => rejection(redlock.acquire(resource, ttl)));
    expect(net).toBeLessThan(2000);
  });
});
