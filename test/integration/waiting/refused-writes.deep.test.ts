import type { Lock } from "@quorlock/redlock";
import type { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";

// PROTOCOL 1.7, 7.5.

const fleet = Fleet.forTests(3);

const ttl = 3000;

/** Ways in which a master answers, and refuses to write. */
const refusals: Readonly<
  Record<string, { begin: (admin: Redis) => Promise<unknown>; end: (admin: Redis) => Promise<unknown> }>
> = {
  OOM: {
    begin: (admin) => admin.config("SET", "maxmemory", "1"),
    end: (admin) => admin.config("SET", "maxmemory", "0"),
  },
  NOREPLICAS: {
    begin: (admin) => admin.config("SET", "min-replicas-to-write", "1"),
    end: (admin) => admin.config("SET", "min-replicas-to-write", "0"),
  },
  READONLY: {
    begin: (admin) => admin.replicaof("127.0.0.1", 1),
    end: (admin) => admin.replicaof("NO", "ONE"),
  },
};

async function during<T>(refusal: string, admins: readonly Redis[], work: () => Promise<T>): Promise<T> {
  const { begin, end } = refusals[refusal]!;
  await Promise.all(admins.map(begin));
  try {
    return await work();
  } finally {
    await Promise.all(admins.map(end));
  }
}

/** How many masters have the key under the token of `lock`. */
async function keptBy(lock: Lock, resource: string): Promise<number> {
  const values = await fleet.values(resource);
  return values.filter((value) => value === lock.value).length;
}

describe.each(Object.keys(refusals))("masters that answer and refuse writes by %s", (refusal) => {
  it.each([1, 2, 3])("a grant counts only if the key has the token; refused by %i of 3", async (count) => {
    const resource = fresh();
    const [holder, waiter] = [await fleet.openWarm(), await fleet.openWarm()];
    const held = await fleet.hold(resource, ttl, holder.redlock);
    let granted: Lock | undefined;
    const waiting = waiter.redlock.acquire(resource, ttl, { retryCount: -1 }).then((lock) => {
      granted = lock;
    });
    await fleet.untilWaiting(resource);
    await during(refusal, fleet.admins.slice(0, count), async () => {
      await held.release();
      // Two heartbeats: whatever was pushed has been heard, and what it came to has been asked for again.
      const beats = waiter.redlock.acquire(fresh(), ttl).catch(() => undefined);
      await until("it is granted, or its time is over", async () => {
        if (granted) expect(await keptBy(granted, resource)).toBeGreaterThanOrEqual(2);
        return granted !== undefined || (await fleet.values(resource)).every((value) => value === null);
      });
      await beats;
    });
    await waiting;
    expect(await keptBy(granted!, resource)).toBeGreaterThanOrEqual(2);
  });

  it("no lock has a fencing token that the masters have not stored", async () => {
    const resource = fresh();
    const [holder, waiter] = [
      await fleet.openWarm({ fencing: true }),
      await fleet.openWarm({ fencing: true }),
    ];
    const held = await fleet.hold(resource, ttl, holder.redlock);
    const waiting = waiter.redlock.acquire(resource, ttl, { retryCount: -1 });
    await fleet.untilWaiting(resource);
    await during(refusal, fleet.admins, () => held.release());
    const lock = await waiting;
    const counters = await Promise.all(fleet.admins.map((admin) => admin.get(`quorlock:fence:${resource}`)));
    expect(counters.filter((counter) => Number(counter) >= lock.fencingToken!).length).toBeGreaterThanOrEqual(
      2,
    );
    expect(await keptBy(lock, resource)).toBeGreaterThanOrEqual(2);
  });
});

describe("a full master", () => {
  it("loses no lock: extensions succeed", async () => {
    const resource = fresh();
    const { redlock } = await fleet.openWarm();
    const lock = await redlock.acquire(resource, 1000);
    await during("OOM", fleet.admins, async () => {
      await lock.extend(60_000);
      expect(lock.remaining()).toBeGreaterThan(50_000);
      const lives = await fleet.lifetimes(resource);
      for (const left of lives) expect(left).toBeGreaterThan(50_000);
    });
  });

  it("grants a released lock to the waiter", async () => {
    const resource = fresh();
    const [holder, waiter] = [await fleet.openWarm(), await fleet.openWarm()];
    const held = await fleet.hold(resource, ttl, holder.redlock);
    const waiting = waiter.redlock.acquire(resource, ttl, { retryCount: -1 });
    await fleet.untilWaiting(resource);
    await during("OOM", fleet.admins, async () => {
      expect(await held.release()).toMatchObject({ outcome: "released" });
      expect(await keptBy(await waiting, resource)).toBe(3);
    });
  });

  it("gives no new vote, and the error names the reason", async () => {
    const { redlock, errors } = await fleet.openWarm();
    await during("OOM", fleet.admins, async () => {
      const error = await rejection(redlock.acquire(fresh(), ttl, { retryCount: 0 }));
      expect(error).toMatchObject({ code: "NO_QUORUM" });
      expect(errors.map(({ reason }) => reason)).toContain("OOM");
    });
  });
});
