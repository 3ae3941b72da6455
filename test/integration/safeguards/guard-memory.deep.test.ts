import { type Lock, type Redlock, type Runtime, systemRuntime } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, untilConnected } from "../fleet/fleet.ts";
import { GuardedFleet, restartGuard, ttl } from "../fleet/guarded-fleet.ts";

// PROTOCOL 1.2, 8.8, 9.3, 9.4, 9.5, 9.9.

const hour = 3_600_000;
const ahead: Runtime = {
  monotonic: () => systemRuntime.monotonic(),
  wall: () => systemRuntime.wall() + hour,
  randomBytes: (count) => systemRuntime.randomBytes(count),
  setTimer: (callback, delay) => systemRuntime.setTimer(callback, delay),
};

/** A fenced lock, and how many masters have voted for it. */
async function fencedBy(redlock: Redlock, resource: string): Promise<number> {
  const lock = await redlock.acquire(resource, ttl);
  const { votesFor } = await lock.attempts[0]!;
  await Promise.all((await lock.release()).attempts);
  return votesFor.size;
}

/** The content of a replica. */
async function copyAll(from: Redis, to: Redis): Promise<void> {
  for (const key of await from.keys("*")) {
    const [value, left] = [await from.get(key), await from.pttl(key)];
    if (left > 0) await to.set(key, value!, "PX", left);
    else await to.set(key, value!);
  }
}

/** Held by the votes of the second and the third of three masters alone. */
async function holdByTwo(fleet: Fleet, redlock: Redlock, resource: string): Promise<Lock> {
  const [first] = fleet.masters as [Master];
  await fleet.occupy(resource, [first]);
  const lock = await redlock.acquire(resource, ttl);
  await fleet.free(resource, [first]);
  return lock;
}

// Each has its own masters, and mostly waits for the end of a quarantine: so they are run beside each other.
describe.concurrent("what is believed of a guarded master", () => {
  it("comes from this process: what an old snapshot says of its counters is no floor", async () => {
    await using guarded = await GuardedFleet.start("rdb", 3);
    const { fleet } = guarded;
    const usual = await guarded.openNew({ fencing: true });
    await fleet.admins[0]!.save();
    const { redlock: early } = fleet.open({ restartGuard, fencing: true, runtime: ahead });
    // Stored at the first and the third alone.
    await fleet.occupy("fenced", [fleet.masters[1]!]);
    const before = await early.acquire("fenced", ttl);
    await fleet.free("fenced", [fleet.masters[1]!]);
    await before.release();
    await early.quit();
    await usual.redlock.quit();
    // The third has forgotten it, and its quarantine is over.
    await fleet.admins[2]!.flushall();
    const { redlock: unfenced } = fleet.open({ restartGuard });
    await until("the third votes", async () => (await fencedBy(unfenced, fresh("unfenced"))) === 3, 15_000);
    // The first has forgotten it as well, and does not tell a client that has not agreed on maxTtl.
    await guarded.crash(fleet.masters[0]!);
    const newcomer = fleet.open({ restartGuard, fencing: true });
    await fleet.masters[1]!.hang();
    await rejection(newcomer.redlock.acquire(fresh("first"), ttl, { retryCount: 0, nodeTimeout: 200 }));
    await fleet.masters[1]!.resume();
    const told = (): boolean => newcomer.errors.some(({ reason }) => reason === "UNCERTAIN_FLOOR");
    const lock = await newcomer.redlock.acquire("fenced", ttl, { waitTimeout: 30_000 });
    expect(told() || lock.fencingToken! > before.fencingToken!).toBe(true);
  });

  it("belongs to a database: two of them are exchanged", async () => {
    await using guarded = await GuardedFleet.start("none", 3);
    const { fleet } = guarded;
    const { redlock } = await guarded.openNew();
    const other = fleet.open({ restartGuard, client: { db: 1 } });
    await untilConnected(other);
    await other.redlock.initialize();
    const rival = await guarded.openGuarded();
    const resource = fresh("swapped");
    const lock = await holdByTwo(fleet, redlock, resource);
    await fleet.admins[2]!.call("SWAPDB", "0", "1");
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(lock.state).toBe("held");
    const reasons = new Set(rival.errors.map(({ reason }) => reason));
    expect(reasons).toEqual(new Set(["QUARANTINE"]));
  });

  it("is not declared new by a command that was held up until it had been emptied", async () => {
    await using guarded = await GuardedFleet.start("none", 3);
    const { fleet } = guarded;
    await using proxy = await startProxy(fleet.masters[2]!);
    const late = fleet.open({ restartGuard, on: [...fleet.masters.slice(0, 2), proxy] });
    await untilConnected(late);
    // The third is asked whether it is new, and what comes after that is held up. (Beside the answer may be a reading of its clock.)
    const looked = proxy.nextReply((bytes) => bytes.toString().includes("*1\r\n*"));
    void looked.then(() => proxy.hold("requests"));
    const stuck = rejection(late.redlock.initialize());
    await looked;
    await until("it is held up", () => proxy.counters.requests.held > 0);
    expect(String(await stuck)).toContain("initialize");
    // Meanwhile it is put into quarantine, votes, and is emptied.
    await fleet.admins[0]!.flushall();
    await fleet.admins[1]!.flushall();
    const holder = await guarded.openNew();
    const resource = fresh("late");
    const lock = await holdByTwo(fleet, holder.redlock, resource);
    await fleet.admins[2]!.flushall();
    proxy.release("requests");
    await until("it has arrived", () => proxy.counters.requests.held === 0);
    await fleet.admins[2]!.ping();
    // One that had seen the epoch of the quarantine would know that the declaration is older (9.5).
    const rival = fleet.open({ restartGuard });
    expect(await rival.redlock.tryAcquire(resource, ttl)).toBeNull();
    expect(lock.state).toBe("held");
  });

  it("once in quarantine, a master without fenced locks votes by as few commands as before", async () => {
    await using guarded = await GuardedFleet.start("none", 3);
    const { fleet } = guarded;
    const { redlock } = await guarded.openNew();
    const admin = fleet.admins[2]!;
    const commands = async (): Promise<string> => {
      await admin.config("RESETSTAT");
      expect(await fencedBy(redlock, fresh("counted"))).toBe(3);
      const stats = await admin.info("commandstats");
      const lines = [...stats.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(
        ([, name, calls]) => `${name} ${calls}`,
      );
      return lines
        .filter((line) => !/^(config|info 1$)/.test(line))
        .sort()
        .join();
    };
    const before = await commands();
    await admin.flushall();
    await until("it votes again", async () => (await fencedBy(redlock, fresh("again"))) === 3, 15_000);
    expect(await commands()).toBe(before);
  });

  it("an older epoch is detected: old primaries that get their clients back", async () => {
    await using old = await GuardedFleet.start("none", 3);
    const promoted = await Fleet.start(3);
    const proxies = await Promise.all(old.fleet.masters.map((master) => startProxy(master)));
    try {
      const holder = old.fleet.open({ restartGuard, on: proxies });
      await untilConnected(holder);
      await holder.redlock.initialize();
      const rival = old.fleet.open({ restartGuard, on: proxies });
      for (const { redlock } of [holder, rival]) expect(await fencedBy(redlock, fresh("warm-up"))).toBe(3);
      // A failover: the others have what was written, and clients are led to them.
      for (const [index, admin] of promoted.admins.entries()) await copyAll(old.fleet.admins[index]!, admin);
      for (const [index, master] of promoted.masters.entries()) proxies[index]!.leadTo(master);
      for (const opened of [holder, rival]) await untilConnected(opened);
      const resource = fresh("failed-over");
      let lock: Lock | null = null;
      await until(
        "the quarantine is over",
        async () => {
          lock = await holder.redlock.tryAcquire(resource, ttl).catch(() => null);
          return lock !== null;
        },
        15_000,
      );
      // And back, without what has been written since.
      for (const [index, master] of old.fleet.masters.entries()) proxies[index]!.leadTo(master);
      await untilConnected(rival);
      expect(await rival.redlock.tryAcquire(resource, ttl).catch(() => null)).toBeNull();
      expect(lock!.remaining()).toBeGreaterThan(0);
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
      await promoted.stop();
    }
  });
});
