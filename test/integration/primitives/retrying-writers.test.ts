import { type Lock, Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { clusterConfig, formCluster } from "@quorlock/testbed";
import { Cluster } from "ioredis";
import { createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type OpenOptions, rejection } from "../fleet/fleet.ts";

// PROTOCOL 10.8.

const fleet = Fleet.forTests(3);
const ttl = 30_000;
const patient: OpenOptions = { queue: false, retryDelay: 20, retryJitter: 10, waitTimeout: 20_000 };

function open(name: string, options: OpenOptions = {}): ReadWriteLock {
  return new ReadWriteLock(fleet.open({ ...patient, ...options }).redlock, name);
}

function marksOf(name: string): Promise<string[][]> {
  return Promise.all(
    fleet.admins.map((admin) => admin.zrange(`quorlock:rw:{${name}}:marks`, "0", "-1", "WITHSCORES")),
  );
}

/** The number of marks on each master. */
async function marked(name: string): Promise<number[]> {
  return (await marksOf(name)).map((marks) => marks.length / 2);
}

/** A read lock with a claim on every master: a writer is marked only where a reader is. */
async function readEverywhere(lock: ReadWriteLock): Promise<Lock> {
  const reading = await lock.read(ttl);
  const key = `quorlock:rw:{${lock.name}}:readers`;
  await fleet.untilAll("it reads", () => Promise.all(fleet.admins.map((admin) => admin.zcard(key))), 1);
  return reading;
}

async function isReadable(lock: ReadWriteLock): Promise<boolean> {
  const reading = await lock.tryRead(ttl);
  await reading?.release();
  return reading !== null;
}

async function untilShutOut(lock: ReadWriteLock): Promise<void> {
  await until("a new reader is refused", async () => !(await isReadable(lock)));
}

/**
 * Readers of which the next reads before the last one leaves, until `writing` is over: so the lock is never free unless a
 * reader is refused.
 */
async function readThroughout(lock: ReadWriteLock, first: Lock, writing: Promise<unknown>): Promise<void> {
  const ended = new AbortController();
  void writing.finally(() => ended.abort());
  let reading: Lock | null = first;
  while (!ended.signal.aborted) {
    const next: Lock | null = reading ? await lock.tryRead(ttl) : await lock.read(ttl);
    await reading?.release();
    reading = next;
  }
  await reading?.release();
}

/** Whether a writer is granted while readers relieve each other all the time. */
async function writesAmongReaders(readers: ReadWriteLock, writers: ReadWriteLock): Promise<void> {
  const first = await readers.read(ttl);
  const writing = writers.write(ttl, { waitTimeout: 5_000 });
  const written = writing.then((lock) => lock.release()).catch(() => {});
  await readThroughout(readers, first, written);
  expect((await writing).resources).toHaveLength(1);
}

describe("a stream of readers lets a waiting writer through without the queue", () => {
  it("on masters that are asked with queue: false", async () => {
    const name = fresh("report");
    await writesAmongReaders(open(name), open(name));
    await until("no mark is left", async () => (await marked(name)).every((count) => count === 0));
  });

  describe("on a Cluster", () => {
    let cluster: Fleet;
    beforeAll(async () => {
      cluster = await Fleet.start(1, { config: clusterConfig });
      await formCluster(cluster.admins);
    });
    afterAll(() => cluster.stop());

    it("by ioredis", async () => {
      const client = new Cluster(cluster.masters.map(({ host, port }) => ({ host, port })));
      client.on("error", () => {});
      const redlock = new Redlock([client], { nodeTimeout: 900, retryDelay: 20 });
      const name = fresh("report");
      await writesAmongReaders(new ReadWriteLock(redlock, name), new ReadWriteLock(redlock, name));
      await redlock.quit();
    });

    it("by node-redis", async () => {
      const { host, port } = cluster.masters[0]!;
      const client = createCluster({ rootNodes: [{ socket: { host, port } }] });
      client.on("error", () => {});
      await client.connect();
      const redlock = new Redlock([client], { nodeTimeout: 900, retryDelay: 20 });
      const name = fresh("report");
      await writesAmongReaders(new ReadWriteLock(redlock, name), new ReadWriteLock(redlock, name));
      await redlock.quit();
    });
  });
});

describe("the mark of a writer that retries", () => {
  it("is renewed during any pause, and removed when the writer gives up", async () => {
    const name = fresh("report");
    const [readers, writers] = [open(name), open(name, { backoff: () => 60_000, waitTimeout: 120_000 })];
    const reading = await readEverywhere(readers);
    const gaveUp = new AbortController();
    const writing = rejection(writers.write(ttl, { signal: gaveUp.signal }));
    await untilShutOut(readers);
    const before = await marksOf(name);
    await until("each is renewed", async () => {
      const after = await marksOf(name);
      return after.every(([, expiry], index) => expiry !== undefined && expiry !== before[index]![1]);
    });
    // A client that dies loses it soon.
    const left = await fleet.lifetimes(`quorlock:rw:{${name}}:marks`);
    expect(Math.max(...left)).toBeLessThanOrEqual(2_900);
    expect(await isReadable(readers)).toBe(false);
    await reading.extend(ttl);
    gaveUp.abort();
    expect(await writing).toMatchObject({ code: "ABORTED" });
    await until("readers are let in", () => isReadable(readers));
    expect(await marked(name)).toEqual([0, 0, 0]);
    await reading.release();
  });

  it("is removed when its writer is granted, and not that of another writer", async () => {
    const name = fresh("report");
    const [readers, first, second] = [open(name), open(name), open(name, { backoff: () => 60_000 })];
    const reading = await readEverywhere(readers);
    const gaveUp = new AbortController();
    const waiting = rejection(second.write(ttl, { waitTimeout: 120_000, signal: gaveUp.signal }));
    await until("the second waits", async () => Math.min(...(await marked(name))) === 1);
    const writing = first.write(ttl);
    await until("both wait", async () => Math.min(...(await marked(name))) === 2);
    await reading.release();
    await (await writing).release();
    await until("one mark is left", async () => Math.max(...(await marked(name))) === 1);
    expect(await isReadable(readers)).toBe(false);
    gaveUp.abort();
    expect(await waiting).toMatchObject({ code: "ABORTED" });
  });

  it("is removed when its Redlock quits", async () => {
    const name = fresh("report");
    const readers = open(name);
    const reading = await readEverywhere(readers);
    const { redlock } = fleet.open(patient);
    const writing = rejection(new ReadWriteLock(redlock, name).write(ttl));
    await untilShutOut(readers);
    await redlock.quit();
    expect(await writing).toMatchObject({ code: "CLOSED" });
    expect(await isReadable(readers)).toBe(true);
    expect(await marked(name)).toEqual([0, 0, 0]);
    await reading.release();
  });

  it("is made neither by a writer that does not wait nor by one that only a writer keeps out", async () => {
    const name = fresh("report");
    const [one, other] = [open(name), open(name)];
    const reading = await readEverywhere(one);
    expect(await other.tryWrite(ttl)).toBeNull();
    expect(await marked(name)).toEqual([0, 0, 0]);
    await reading.release();
    const writing = await one.write(ttl);
    expect(await rejection(other.write(ttl, { waitTimeout: 150 }))).toMatchObject({
      code: "RESOURCE_LOCKED",
    });
    expect(await marked(name)).toEqual([0, 0, 0]);
    await writing.release();
  });

  it("is removed from the rest by a writer that reaches no majority", async () => {
    const name = fresh("report");
    const [readers, writers] = [open(name), open(name, { nodeTimeout: 200 })];
    const reading = await readEverywhere(readers);
    const gaveUp = new AbortController();
    const writing = rejection(writers.write(ttl, { signal: gaveUp.signal }));
    await until("it waits", async () => Math.min(...(await marked(name))) === 1);
    const [first, second, third] = fleet.masters;
    const marksOnThird = () => fleet.admin(third!).zcard(`quorlock:rw:{${name}}:marks`);
    for (const master of [first!, second!]) await master.hang();
    try {
      await until("the mark is removed", async () => (await marksOnThird()) === 0);
    } finally {
      for (const master of [first!, second!]) await master.resume();
    }
    await until("it waits again", async () => Math.min(...(await marked(name))) === 1);
    gaveUp.abort();
    expect(await writing).toMatchObject({ code: "ABORTED" });
    await reading.release();
  });
});
