import type { Lock, Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import type { Master } from "@quorlock/testbed";
import { beforeEach, describe, expect, it } from "vitest";
import { Fleet, fresh, untilConnected } from "../fleet/fleet.ts";
import { GuardedFleet, ttl } from "../fleet/guarded-fleet.ts";

/** The keys that keep readers and writers out. */
const claimsOf = (name: string): readonly string[] => [`quorlock:rw:{${name}}:write`];

// Sections 8 and 9 hold for every kind of lock (PROTOCOL 10.3).

describe("fencing tokens of readers and writers", () => {
  const fleet = Fleet.forTests(3);

  it("grow from each lock to the next, of whichever kind, and a downgrade keeps its own", async () => {
    const name = fresh("report");
    const locks = [1, 2].map(() => new ReadWriteLock(fleet.open({ fencing: true }).redlock, name));
    const tokens: number[] = [];
    for (const lock of [...locks, ...locks]) {
      const readings = [await lock.read(ttl), await lock.read(ttl)];
      tokens.push(...readings.map(({ fencingToken }) => fencingToken!));
      const waiting = lock.write(ttl);
      for (const reading of readings) await reading.release();
      const writing = await waiting;
      tokens.push(writing.fencingToken!);
      const reading = await writing.downgrade();
      expect(reading.fencingToken).toBe(writing.fencingToken);
      await reading.release();
    }
    expect(tokens.every((token) => Number.isSafeInteger(token))).toBe(true);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it("are larger for readers that overlap than that of the writer before, and smaller than that of the next", async () => {
    const name = fresh("report");
    const locks = [1, 2, 3].map(() => new ReadWriteLock(fleet.open({ fencing: true }).redlock, name));
    // Every proposal is too small, so readers that overlap compute their tokens from the same counters.
    for (const admin of fleet.admins)
      await admin.set(`quorlock:fence:quorlock:rw:{${name}}:write`, 4_000_000_000_000_000, "PX", ttl);
    for (const lock of locks) {
      const before = await lock.write(ttl);
      const calls = locks.map((other) => other.read(ttl));
      await before.release();
      const readings = await Promise.all(calls);
      const waiting = lock.write(ttl);
      for (const reading of readings) await reading.release();
      const after = await waiting;
      for (const { fencingToken } of readings) {
        expect(fencingToken).toBeGreaterThan(before.fencingToken!);
        expect(fencingToken).toBeLessThan(after.fencingToken!);
      }
      await after.release();
    }
    for (const admin of fleet.admins) await admin.flushall();
  });

  it("are one sequence: a counter that only writers have raised counts for a reader", async () => {
    const name = fresh("report");
    const lock = new ReadWriteLock(fleet.open({ fencing: true }).redlock, name);
    const ahead = 4_000_000_000_000_000;
    for (const admin of fleet.admins)
      await admin.set(`quorlock:fence:quorlock:rw:{${name}}:write`, ahead, "PX", ttl);
    const reading = await lock.read(ttl);
    expect(reading.fencingToken).toBeGreaterThan(ahead);
    await reading.release();
    const writing = await lock.write(ttl);
    expect(writing.fencingToken).toBeGreaterThan(reading.fencingToken!);
    await writing.release();
    for (const admin of fleet.admins) await admin.flushall();
  });
});

describe("with a restart guard, masters that forget", () => {
  const guarded = GuardedFleet.forTests();
  const { fleet } = guarded;
  beforeEach(() => fleet.empty());

  const losses: ReadonlyArray<readonly [string, (master: Master) => Promise<unknown>]> = [
    ["are emptied", (master) => fleet.admin(master).flushall()],
    ["are killed and restarted", (master) => guarded.crash(master)],
  ];

  /** A lock held by the votes of the first three masters alone; somebody else keeps the others at that time. */
  async function heldByThree<T extends Lock>(keys: readonly string[], acquire: () => Promise<T>): Promise<T> {
    const others = fleet.masters.slice(3).map((master) => fleet.admin(master));
    for (const admin of others) for (const key of keys) await admin.set(key, "other", "PX", 60_000);
    const held = await acquire();
    // The others have refused: a vote on its way would find the key free.
    await Promise.all(held.attempts);
    for (const admin of others) await admin.del(...keys);
    return held;
  }

  /** After the loss of one of three votes a rival without the guard would be granted, and one with it is not. */
  async function protects<T extends Lock>(
    keysOf: (name: string) => readonly string[],
    acquire: (redlock: Redlock, name: string) => Promise<T>,
    rival: (redlock: Redlock, name: string) => Promise<unknown>,
    lose: (master: Master) => Promise<unknown>,
  ): Promise<void> {
    const holder = await guarded.openNew();
    const other = await guarded.openGuarded();
    const name = fresh("report");
    const held = await heldByThree(keysOf(name), () => acquire(holder.redlock, name));
    await lose(fleet.masters[2]!);
    await untilConnected(other);
    expect(await rival(other.redlock, name)).toBeNull();
    expect(other.errors.map(({ reason }) => reason)).toContain("QUARANTINE");
    // The rival's votes on the last two masters may still be on their way to be deleted.
    const last = fleet.masters.slice(3).map((master) => fleet.admin(master));
    await fleet.untilAll(
      "no vote is left",
      () => Promise.all(last.map((admin) => admin.exists(...keysOf(name)))),
      0,
    );
    const unguarded = await fleet.openWarm();
    expect(await rival(unguarded.redlock, name)).not.toBeNull();
    expect(held.state).toBe("held");
    // Nothing is on its way any more that would mark the masters of the next test.
    for (const { redlock } of [holder, other, unguarded]) await redlock.quit();
  }

  it.each(losses)("let no writer in beside a reader, if they %s", async (_, lose) => {
    await protects(
      claimsOf,
      (redlock, name) => new ReadWriteLock(redlock, name).read(ttl),
      (redlock, name) => new ReadWriteLock(redlock, name).tryWrite(ttl),
      lose,
    );
  });

  it.each(losses)("let no reader in beside a writer, if they %s", async (_, lose) => {
    await protects(
      claimsOf,
      (redlock, name) => new ReadWriteLock(redlock, name).write(ttl),
      (redlock, name) => new ReadWriteLock(redlock, name).tryRead(ttl),
      lose,
    );
  });

  it.each(losses)("give no permit more than the limit, if they %s", async (_, lose) => {
    await protects(
      (name) => [`{${name}}:slot:0`],
      (redlock, name) => new Semaphore(redlock, name, 1).acquire(ttl),
      (redlock, name) => new Semaphore(redlock, name, 1).tryAcquire(ttl),
      lose,
    );
  });
});
