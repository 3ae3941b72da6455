import type { Lock, Redlock } from "@quorlock/redlock";
import { type Proxy as Address, type Master, startProxy } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, untilConnected } from "../fleet/fleet.ts";
import { GuardedFleet, restartGuard, ttl } from "../fleet/guarded-fleet.ts";

// PROTOCOL 1.2, 9.5, 9.12.

// The memory of a guarded master comes from elsewhere: from a replica that lags, or from an old file (PROTOCOL 9.2, 9.3).

const durable = { restartGuard: { ...restartGuard, durable: true } };
const debuggable = ["--enable-debug-command", "yes"];

/** They send a copy as soon as they are asked for it: by default 5 s later. */
async function copyAtOnce(...fleets: readonly Fleet[]): Promise<void> {
  for (const { admins } of fleets)
    for (const admin of admins) await admin.config("SET", "repl-diskless-sync-delay", "0");
}

/** `replica` copies `primary` from now on; resolves when it has all that is there. */
async function follow(replica: Redis, { host, port }: Pick<Master, "host" | "port">): Promise<void> {
  await replica.call("REPLICAOF", host, port);
  await until("the replica is in step", async () => {
    const info = await replica.info("replication");
    return /master_link_status:up/.test(info) && /master_sync_in_progress:0/.test(info);
  });
}

async function promote(replica: Redis): Promise<void> {
  await replica.call("REPLICAOF", "NO", "ONE");
}

/** Three guarded masters, and a server that copies the third of them until it is told to lag. */
class Replicated implements AsyncDisposable {
  readonly guarded: GuardedFleet;
  readonly spares: Fleet;
  readonly #stream: Address;

  private constructor(guarded: GuardedFleet, spares: Fleet, stream: Address) {
    this.guarded = guarded;
    this.spares = spares;
    this.#stream = stream;
  }

  static async start(persistence: "none" | "aof-always" = "none"): Promise<Replicated> {
    const guarded = new Replicated(
      await GuardedFleet.start(persistence, 3),
      await Fleet.start(2),
      await startProxy({ host: "127.0.0.1", port: 1 }),
    );
    guarded.#stream.leadTo(guarded.third);
    await copyAtOnce(guarded.fleet, guarded.spares);
    return guarded;
  }

  get fleet(): Fleet {
    return this.guarded.fleet;
  }

  get third(): Master {
    return this.fleet.masters[2]!;
  }

  get replica(): Redis {
    return this.spares.admins[0]!;
  }

  get replicaAddress(): Master {
    return this.spares.masters[0]!;
  }

  async copy(): Promise<void> {
    await follow(this.replica, this.#stream);
  }

  /** A lock by the votes of the second and the third master, which the replica does not receive. */
  async holdUnseen(redlock: Redlock): Promise<Lock> {
    this.#stream.hold("replies");
    const lock = await holdByTwo(this.fleet, redlock, fresh("unseen"));
    expect(await this.replica.get(lock.resources[0]!)).toBeNull();
    return lock;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stream.stop();
    await this.spares.stop();
    await this.guarded[Symbol.asyncDispose]();
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

async function expectRefused({ redlock, errors }: Opened, lock: Lock, reason = "QUARANTINE"): Promise<void> {
  expect(await redlock.tryAcquire(lock.resources[0]!, ttl).catch(() => null)).toBeNull();
  expect(lock.remaining()).toBeGreaterThan(0);
  expect(errors.map(({ reason }) => reason)).toContain(reason);
}

async function votesFor({ redlock }: Opened): Promise<number> {
  const lock = await redlock.acquire(fresh("counted"), ttl);
  const { votesFor } = await lock.attempts[0]!;
  await Promise.all((await lock.release()).attempts);
  return votesFor.size;
}

// Each has its own masters, and some wait for the end of a quarantine: so they run side by side.
describe.concurrent("a guarded master with replicas", () => {
  it.each([1, 2])(
    "is in quarantine when it was resynchronised from a replica that lags, and promoted back: %i in a row",
    async (count) => {
      await using all = await Replicated.start();
      const holder = await all.guarded.openNew();
      const rival = await all.guarded.openGuarded();
      await all.copy();
      if (count === 2) await follow(all.spares.admins[1]!, all.replicaAddress);
      const lock = await all.holdUnseen(holder.redlock);
      const source = count - 1;
      await promote(all.spares.admins[source]!);
      const third = all.fleet.admins[2]!;
      await follow(third, all.spares.masters[source]!);
      await promote(third);
      await promote(third);
      expect(await third.get(lock.resources[0]!)).toBeNull();
      await expectRefused(rival, lock);
      const newcomer = all.fleet.open({ restartGuard });
      await untilConnected(newcomer);
      await expectRefused(newcomer, lock);
    },
    60_000,
  );

  it("is in quarantine when it was a replica in between, although it received nothing", async () => {
    await using guarded = await GuardedFleet.start("none", 3);
    const { redlock } = await guarded.openNew();
    const lock = await holdByTwo(guarded.fleet, redlock, fresh("demoted"));
    const third = guarded.fleet.admins[2]!;
    await third.call("REPLICAOF", "127.0.0.1", "1");
    await promote(third);
    // The votes of another primary are missing, and only the id of the replication tells.
    await third.del(lock.resources[0]!);
    const newcomer = guarded.fleet.open({ restartGuard });
    await untilConnected(newcomer);
    await expectRefused(newcomer, lock);
  }, 60_000);

  it("keeps voting when its first replica gives it another replication id", async () => {
    await using all = await Replicated.start();
    const opened = await all.guarded.openNew();
    const third = all.fleet.admins[2]!;
    const id = async (): Promise<string> => /master_replid:(\w+)/.exec(await third.info("replication"))![1]!;
    const before = await id();
    await all.copy();
    expect(await id()).not.toBe(before);
    expect(await votesFor(opened)).toBe(3);
    expect(await third.get("quorlock:guard")).toContain(await id());
    expect(await votesFor(opened)).toBe(3);
  }, 60_000);

  it("that is declared durable: a replica that lags takes its place", async () => {
    await using all = await Replicated.start("aof-always");
    await using address = await startProxy(all.third);
    const on = [...all.fleet.masters.slice(0, 2), address];
    const holder = all.fleet.open({ ...durable, on });
    const rival = all.fleet.open({ ...durable, on });
    for (const opened of [holder, rival]) await untilConnected(opened);
    await holder.redlock.initialize();
    await all.copy();
    const lock = await all.holdUnseen(holder.redlock);
    await promote(all.replica);
    address.leadTo(all.replicaAddress);
    await untilConnected(rival);
    await expectRefused(rival, lock);
    const newcomer = all.fleet.open({ ...durable, on });
    await untilConnected(newcomer);
    await expectRefused(newcomer, lock);
  }, 60_000);

  it("has no vote of a replica that can be written to", async () => {
    await using all = await Replicated.start();
    const holder = await all.guarded.openNew();
    await all.copy();
    await all.replica.config("SET", "replica-read-only", "no");
    const lock = await all.holdUnseen(holder.redlock);
    const misled = all.fleet.open({
      restartGuard,
      on: [...all.fleet.masters.slice(0, 2), all.replicaAddress],
    });
    await untilConnected(misled);
    await expectRefused(misled, lock, "READONLY");
  }, 60_000);
});

/** Connections to the addresses lead to these masters from now on. */
function lead(addresses: readonly Address[], to: Fleet): void {
  for (const [index, master] of to.masters.entries()) addresses[index]!.leadTo(master);
}

describe.concurrent("old primaries that get their clients back, and were never resynchronised", () => {
  it("are in quarantine for a client that was started during the failover", async () => {
    await using guarded = await GuardedFleet.start("none", 3);
    const promoted = await Fleet.start(3);
    await copyAtOnce(guarded.fleet, promoted);
    const addresses = await Promise.all(guarded.fleet.masters.map((master) => startProxy(master)));
    try {
      const { fleet } = guarded;
      await guarded.openNew();
      for (const [index, replica] of promoted.admins.entries()) {
        await follow(replica, fleet.masters[index]!);
        await promote(replica);
      }
      lead(addresses, promoted);
      const started = fleet.open({ restartGuard, on: addresses });
      await untilConnected(started);
      // It begins the quarantines, and never votes there again.
      expect(await started.redlock.tryAcquire(fresh("first"), ttl).catch(() => null)).toBeNull();
      const holder = promoted.open({ restartGuard });
      await untilConnected(holder);
      let lock: Lock | null = null;
      const hold = async (): Promise<boolean> => {
        lock = await holder.redlock.tryAcquire("failed-over", ttl).catch(() => null);
        return lock !== null;
      };
      await until("the quarantine is over", hold, 20_000);
      lead(addresses, fleet);
      await untilConnected(started);
      await expectRefused(started, lock!);
    } finally {
      await Promise.all(addresses.map((address) => address.stop()));
      await promoted.stop();
    }
  }, 60_000);
});

describe.concurrent("a guarded master whose process keeps running", () => {
  it.each(["none", "aof-always"] as const)(
    "is in quarantine after DEBUG RELOAD of an old file (%s)",
    async (persistence) => {
      const fleet = await Fleet.start(3, { persistence, config: debuggable });
      try {
        const guard = persistence === "none" ? { restartGuard } : durable;
        const holder = fleet.open(guard);
        const rival = fleet.open(guard);
        for (const opened of [holder, rival]) await untilConnected(opened);
        await holder.redlock.initialize();
        expect(await votesFor(rival)).toBe(3);
        const third = fleet.admins[2]!;
        await third.save();
        const lock = await holdByTwo(fleet, holder.redlock, fresh("reloaded"));
        await third.call("DEBUG", "RELOAD", "NOSAVE");
        expect(await third.get(lock.resources[0]!)).toBeNull();
        expect(await third.get("quorlock:guard")).not.toBeNull();
        await expectRefused(rival, lock);
      } finally {
        await fleet.stop();
      }
    },
    60_000,
  );
});
