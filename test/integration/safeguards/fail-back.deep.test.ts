import type { Lock, Redlock } from "@quorlock/redlock";
import { type Master, startProxy } from "@quorlock/testbed";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, untilConnected } from "../fleet/fleet.ts";
import { GuardedFleet, restartGuard, ttl } from "../fleet/guarded-fleet.ts";

// The promises of the restart guard, and their limits, if old primaries get their clients back (PROTOCOL 9.5).

/** `replica` copies `primary` from now on; resolves when it has all that is there. */
async function follow(replica: Redis, { host, port }: Master): Promise<void> {
  await replica.call("REPLICAOF", host, port);
  await until("the replica is in step", async () => {
    const info = await replica.info("replication");
    return /master_link_status:up/.test(info) && /master_sync_in_progress:0/.test(info);
  });
}

/** As soon as the quarantine of the masters is over. */
async function held(redlock: Redlock, resource: string): Promise<Lock> {
  let lock: Lock | null = null;
  await until(
    "it is held",
    async () => {
      lock = await redlock.tryAcquire(resource, ttl).catch(() => null);
      return lock !== null;
    },
    20_000,
  );
  return lock!;
}

/**
 * Three masters fail over to their replicas, and the old primaries keep running. A client that saw the failover holds a
 * lock on the replicas, and stays with them.
 */
async function failedOver(act: (old: Fleet, promoted: Fleet, lock: Lock) => Promise<void>): Promise<void> {
  await using guarded = await GuardedFleet.start("none", 3);
  const promoted = await Fleet.start(3);
  const { fleet } = guarded;
  const proxies = await Promise.all(fleet.masters.map((master) => startProxy(master)));
  try {
    const holder = fleet.open({ restartGuard, on: proxies });
    await untilConnected(holder);
    await holder.redlock.initialize();
    await (await holder.redlock.acquire(fresh("before"), ttl)).release();
    for (const [index, replica] of promoted.admins.entries()) await follow(replica, fleet.masters[index]!);
    for (const replica of promoted.admins) await replica.call("REPLICAOF", "NO", "ONE");
    for (const [index, master] of promoted.masters.entries()) proxies[index]!.leadTo(master);
    await untilConnected(holder);
    await act(fleet, promoted, await held(holder.redlock, "failed-over"));
  } finally {
    await Promise.all(proxies.map((proxy) => proxy.stop()));
    await promoted.stop();
  }
}

describe.concurrent("old primaries that were never killed and get clients back, without their quorum's votes", () => {
  it(
    "not guarded: one who was not there comes to them first, and holds what is held",
    () =>
      failedOver(async (old, _, lock) => {
        const newcomer = old.open({ restartGuard });
        await untilConnected(newcomer);

        const second = await newcomer.redlock.tryAcquire("failed-over", ttl);

        // As PROTOCOL 9.5 says: nothing on these masters tells that they have missed anything.
        expect(second).not.toBeNull();
        expect(lock.remaining()).toBeGreaterThan(0);
      }),
    60_000,
  );

  it(
    "guarded: they were resynchronised before, as the README asks",
    () =>
      failedOver(async (old, promoted, lock) => {
        for (const [index, primary] of old.admins.entries()) await follow(primary, promoted.masters[index]!);
        for (const primary of old.admins) await primary.call("REPLICAOF", "NO", "ONE");
        const newcomer = old.open({ restartGuard });
        await untilConnected(newcomer);

        expect(await newcomer.redlock.tryAcquire("failed-over", ttl).catch(() => null)).toBeNull();

        expect(lock.remaining()).toBeGreaterThan(0);
        expect(newcomer.errors.map(({ reason }) => reason)).toContain("QUARANTINE");
      }),
    60_000,
  );
});
