import { type Inspection, Redlock, ResourceLockedError, systemRuntime } from "@quorlock/redlock";
import { ownerKey, ownersKey, recordIn } from "@quorlock/redlock/internal";
import { clusterConfig, formCluster, type Master } from "@quorlock/testbed";
import { Cluster } from "ioredis";
import { beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type Opened, rejection } from "../fleet/fleet.ts";

// PROTOCOL 1.13, and the option `owner`.

const fleet = Fleet.forTests(5);
const ttl = 60_000;
const three = () => fleet.masters.slice(0, 3);

const keysOn = async (place: number): Promise<readonly string[]> =>
  (await fleet.admins[place]!.keys("quorlock:owner*")).toSorted();

/** The tags in the index of each of the first three masters. */
const tags = () =>
  Promise.all(fleet.admins.slice(0, 3).map((admin) => admin.zrange(ownersKey(false), "0", "-1")));

async function untilRecorded(count: number): Promise<readonly string[]> {
  await until("the owners are recorded", async () => (await tags()).every(({ length }) => length === count));
  return (await tags())[0]!;
}

/** Its first lock makes it write, to the masters that are connected by then. */
async function begin(opened: Opened): Promise<void> {
  await fleet.warmUp(opened);
}

describe("the record of an owner", () => {
  it("is on each master from the first lock until quit, and holds no token", async () => {
    await fleet.empty();
    const { redlock } = fleet.open({ on: three(), owner: "billing-7", nodeTimeout: 2000 });
    await redlock.ready();
    expect(await keysOn(0)).toEqual([]);
    const lock = await redlock.acquire(fresh(), ttl, { nodeTimeout: 2000 });
    const [tag] = await untilRecorded(1);
    expect(lock.value.startsWith(tag!)).toBe(true);
    const text = await fleet.admins[0]!.get(ownerKey(tag!, false));
    expect(text).not.toContain(lock.value);
    const record = recordIn(tag!, text)!;
    expect(record).toMatchObject({ tag, name: "billing-7", ...systemRuntime.identity!() });
    for (const { since } of record.locks) expect(since).toBeLessThanOrEqual(Date.now() - 10_000);
    expect(record.masters.map(({ name }) => name)).toEqual(
      three().map(({ host, port }) => `${host}:${port}`),
    );
    expect(new Set(record.masters.flatMap(({ ids }) => ids)).size).toBe(3);
    for (const key of [ownerKey(tag!, false), ownersKey(false)]) {
      const left = await fleet.admins[0]!.pttl(key);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(30_000);
    }
    await redlock.quit();
    await until("the records are deleted", async () =>
      (await Promise.all([0, 1, 2].map(keysOn))).every(({ length }) => length === 0),
    );
  });

  // One whose process was killed: nobody deletes it, and it expires. Its place in the index is left.
  it("takes the places of owners that are gone out of the index with it", async () => {
    await fleet.empty();
    await Promise.all(fleet.admins.slice(0, 3).map((admin) => admin.zadd(ownersKey(false), 1, "deadbeef")));
    const opened = fleet.open({ on: three(), owner: "survivor" });
    await begin(opened);
    await until("only the survivor is named", async () =>
      (await tags()).every((one) => one.length === 1 && one[0] !== "deadbeef"),
    );
  });

  it("is not written with owner: false, and has the name host:pid by default", async () => {
    await fleet.empty();
    await begin(fleet.open({ on: three(), owner: false }));
    await begin(fleet.open({ on: three(), owner: undefined }));
    const [tag] = await untilRecorded(1);
    const { host, pid } = systemRuntime.identity!()!;
    expect(recordIn(tag!, await fleet.admins[1]!.get(ownerKey(tag!, false)))!.name).toBe(`${host}:${pid}`);
  });
});

describe("the record of an owner on a Cluster", () => {
  const cluster = Fleet.forTests(3, { config: clusterConfig });
  beforeAll(() => formCluster(cluster.admins));

  it.each(["", "app:"])(
    "is in the slot of the index, and is read by others, with the keyPrefix '%s'",
    async (keyPrefix) => {
      const redlocks = ["holder", "asker"].map((owner) => {
        const [{ host, port }] = cluster.masters as [Master];
        const client = new Cluster([{ host, port }], { keyPrefix });
        client.on("error", () => {});
        return new Redlock([client], { owner, nodeTimeout: 2000 });
      });
      const [holder, asker] = redlocks as [Redlock, Redlock];
      const resource = fresh();
      try {
        await holder.acquire(resource, ttl);
        await until("it is named", async () => (await asker.inspect(resource))[0]!.holder?.name === "holder");
        const keys = await Promise.all(cluster.admins.map((admin) => admin.keys("*quorlock:owner*")));
        const [{ tag }] = (await asker.inspect(resource)) as [Inspection];
        expect(keys.flat().toSorted()).toEqual(
          [ownerKey(tag!, true), ownersKey(true)].map((key) => `${keyPrefix}${key}`),
        );
      } finally {
        await Promise.all(redlocks.map((redlock) => redlock.quit()));
      }
    },
  );
});

describe("a refused lock", () => {
  it("names its owner once the wait has failed, and tryAcquire reads nothing", async () => {
    await fleet.empty();
    const holder = fleet.open({ on: three(), owner: "billing\u001b[31m-7" });
    const other = await fleet.openWarm({ on: three(), owner: "rival" });
    const resource = fresh();
    await holder.redlock.acquire(resource, ttl);
    const [, tag] = [await untilRecorded(2), (await fleet.admins[0]!.get(resource))!.slice(0, 8)];
    expect(await other.redlock.tryAcquire(resource, ttl)).toBeNull();
    const error = (await rejection(
      other.redlock.acquire(resource, ttl, { waitTimeout: 300 }),
    )) as ResourceLockedError;
    const { host, pid } = systemRuntime.identity!()!;
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(error.owner).toEqual({ name: "billing\u001b[31m-7", host, pid, tag });
    expect(error.message).toContain(
      `is locked by billing\\u{1b}[31m-7 (pid ${pid}, host ${host}), for at most`,
    );
  });

  it("is shown by inspect with the name of its owner on each master", async () => {
    await fleet.empty();
    const holder = await fleet.openWarm({ on: three(), owner: "billing-7" });
    const { redlock } = await fleet.openWarm({ on: three(), owner: false });
    const other = await fleet.openWarm({ on: three(), owner: "rival" });
    const resource = fresh();
    await holder.redlock.acquire(resource, ttl);
    await until("three masters have it", async () => (await fleet.values(resource, three())).every(Boolean));
    const tag = (await fleet.admins[0]!.get(resource))!.slice(0, 8);
    for (const { holder, tag: shown, since } of await other.redlock.inspect(resource)) {
      expect(shown).toBe(tag);
      expect(holder).toMatchObject({ name: "billing-7", tag });
      // It has not been held for ten seconds.
      expect(since).toBeUndefined();
    }
    for (const { holder, tag: shown } of await redlock.inspect(resource))
      expect([shown, holder]).toEqual([tag, undefined]);
  });
});

describe("a list of masters that does not go with another one", () => {
  it("is reported by the clients of either list in a rollout from three to five masters, and not by one with four", async () => {
    await fleet.empty();
    const old = fleet.open({ on: three(), owner: "old" });
    await begin(old);
    await untilRecorded(1);
    const next = fleet.open({ on: fleet.masters, owner: "next" });
    await begin(next);
    await until("it is reported", async () => next.errors.length > 0);
    expect(next.errors.map(({ reason }) => reason)).toEqual(["MEMBERSHIP"]);
    expect(next.errors[0]!.message).toContain("locks on other masters");
    const late = fleet.open({ on: three(), owner: "late" });
    await begin(late);
    await until("the other side reports it", async () => late.errors.length > 0);
    expect(late.errors.map(({ reason }) => reason)).toEqual(["MEMBERSHIP"]);
    const step = fleet.open({ on: fleet.masters.slice(0, 4), owner: "step" });
    await begin(step);
    await until("it is recorded", async () => (await tags())[0]!.length === 4);
    expect(step.errors).toEqual([]);
  });
});
