import { randomBytes } from "node:crypto";
import { type Lock, type NodeError, Redlock, type RedlockOptions, type Runtime } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { clusterConfig, formCluster, moveSlot } from "@quorlock/testbed";
import { Cluster, type Redis } from "ioredis";
import { createCluster } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection } from "../fleet/fleet.ts";

// PROTOCOL 8.9, 12.12: queue and fencing on a Cluster, whose slots move and whose masters fail.

let cluster: Fleet;
const open: (() => void)[] = [];
const settings = {
  nodeTimeout: 3000,
  retryDelay: 20,
  retryJitter: 10,
  retryCount: -1,
  owner: false,
} as const;

beforeAll(async () => {
  cluster = await Fleet.start(2, { config: clusterConfig });
  await formCluster(cluster.admins);
});
afterEach(() => {
  for (const close of open.splice(0)) close();
});
afterAll(() => cluster?.stop());

const libraries = ["ioredis", "node-redis"] as const;

async function openOn(fleet: Fleet, library: (typeof libraries)[number], options: RedlockOptions = {}) {
  const errors: NodeError[] = [];
  const redlock = new Redlock(await clientOf(fleet, library), { ...settings, ...options });
  // A client that needs more than a second for its first connection, on a busy machine, takes the masters for lost.
  await redlock.ready({ timeout: 60_000 });
  redlock.on("error", (error) => errors.push(error));
  return { redlock, errors };
}

async function clientOf(fleet: Fleet, library: (typeof libraries)[number]) {
  if (library === "ioredis") {
    const client = new Cluster(
      fleet.masters.map(({ host, port }) => ({ host, port })),
      { clusterRetryStrategy: () => 20 },
    );
    client.on("error", () => {});
    open.push(() => client.disconnect());
    return client;
  }
  const client = createCluster({
    rootNodes: fleet.masters.map(({ host, port }) => ({ socket: { host, port } })),
  });
  client.on("error", () => {});
  open.push(() => client.destroy());
  await client.connect();
  return client;
}

/** A resource whose slot this master has. */
async function resourceOf(master: Redis): Promise<string> {
  for (;;) {
    const resource = fresh();
    const value = await master.get(resource).catch(() => undefined);
    if (value !== undefined) return resource;
  }
}

/** The clocks of this machine, and a wall clock that is ahead by `offset` ms. */
function clockOff(offset: number): Runtime {
  return {
    monotonic: () => performance.now(),
    wall: () => Date.now() + offset,
    randomBytes,
    setTimer(callback, delay) {
      const timer = setTimeout(callback, delay);
      return { cancel: () => clearTimeout(timer), unref: () => void timer.unref() };
    },
  };
}

function waitersOf(resource: string): Promise<number> {
  return lengthOf(`quorlock:queue:{${resource}}`);
}

/** Of the queue, wherever its slot is. */
async function lengthOf(queue: string): Promise<number> {
  return Math.max(...(await Promise.all(cluster.admins.map((admin) => admin.zcard(queue).catch(() => 0)))));
}

describe("waiters on a Cluster", () => {
  it.each(libraries)("of %s are served in the order of their calls", async (library) => {
    const opened = await Promise.all([0, 1, 2, 3].map(() => openOn(cluster, library)));
    const resource = fresh();
    const first = await opened[0]!.redlock.acquire(resource, 20_000);
    const order: number[] = [];
    const all: Promise<void>[] = [];
    for (const place of [1, 2, 3]) {
      const waiting = opened[place]!.redlock.acquire(resource, 20_000).then(async (lock) => {
        order.push(place);
        await lock.release();
      });
      all.push(waiting);
      await until(`${place} wait`, async () => (await waitersOf(resource)) === place);
    }
    await first.release();
    await Promise.all(all);
    expect(order).toEqual([1, 2, 3]);
    expect(opened.flatMap(({ errors }) => errors)).toEqual([]);
  });

  it("for several resources of one slot are served in the order of their calls", async () => {
    const [holder, one, two] = await Promise.all([0, 1, 2].map(() => openOn(cluster, "ioredis")));
    const tag = fresh();
    const [left, right] = [`{${tag}}left`, `{${tag}}right`] as const;
    const lock = await holder!.redlock.acquire(right, 20_000);
    const order: string[] = [];
    const granted = (name: string) => async (given: Lock) => {
      order.push(name);
      await given.release();
    };
    const both = one!.redlock.acquire([left, right], 20_000).then(granted("both"));
    await until("one waits", async () => (await lengthOf(`quorlock:queue:tagged:${right}`)) === 1);
    const single = two!.redlock.acquire(left, 20_000).then(granted("left"));
    await until("two wait", async () => (await lengthOf(`quorlock:queue:tagged:${left}`)) === 2);
    await lock.release();
    await Promise.all([both, single]);
    expect(order).toEqual(["both", "left"]);
  });

  it("of a readers-writer lock are let in behind the writer before them", async () => {
    const opened = await Promise.all([0, 1, 2].map(() => openOn(cluster, "ioredis")));
    const name = fresh("read-write");
    const [holder, writer, reader] = opened.map(({ redlock }) => new ReadWriteLock(redlock, name));
    const first = await holder!.read(20_000);
    const order: string[] = [];
    const key = `quorlock:queue:tagged:quorlock:rw:{${name}}:write`;
    const length = () => lengthOf(key);
    const writing = writer!.write(20_000).then(async (lock) => {
      order.push("writer");
      await lock.release();
    });
    await until("the writer waits", async () => (await length()) === 1);
    const reading = reader!.read(20_000).then(async (lock) => {
      order.push("reader");
      await lock.release();
    });
    await until("the reader waits", async () => (await length()) === 2);
    await first.release();
    await Promise.all([writing, reading]);
    expect(order).toEqual(["writer", "reader"]);
  });

  it("are shown by an inspection, also while their slot moves", async () => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const [holder, waiter] = await Promise.all([0, 1].map(() => openOn(cluster, "ioredis")));
    const resource = await resourceOf(source);
    const lock = await holder!.redlock.acquire(resource, 20_000);
    const waiting = waiter!.redlock.acquire(resource, 20_000);
    await until("it waits", async () => (await waitersOf(resource)) === 1);
    const looked = async () => (await holder!.redlock.inspect(resource))[0]!;
    const { owner, queueLength } = await looked();
    expect([owner, queueLength]).toEqual([expect.any(String), 1]);
    const slot = await source.cluster("KEYSLOT", resource);
    const seen: unknown[] = [];
    const between = async () => void seen.push(await looked());
    await moveSlot({ slot, from: source, to: target, keysAtOnce: 1, between });
    expect(seen.length).toBeGreaterThan(0);
    for (const one of seen) expect(one).toMatchObject({ owner });
    await lock.release();
    await (await waiting).release();
  });

  it("get the lock of a process that died with it, when its time is over", async () => {
    const [dying, waiter] = await Promise.all([0, 1].map(() => openOn(cluster, "ioredis")));
    const resource = fresh();
    await dying!.redlock.acquire(resource, 600, { nodeTimeout: 300 });
    open.shift()?.();
    await (await waiter!.redlock.acquire(resource, 20_000)).release();
  });
});

describe("a semaphore on a Cluster", () => {
  it.each(libraries)("of %s gives its permits while their slot moves", async (library) => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const { redlock, errors } = await openOn(cluster, library);
    const name = await resourceOf(source);
    const semaphore = new Semaphore(redlock, name, 10);
    const held = [await semaphore.tryAcquire(20_000)];
    const slot = await source.cluster("KEYSLOT", name);
    const between = async () => void held.push(await semaphore.tryAcquire(20_000));
    await moveSlot({ slot, from: source, to: target, keysAtOnce: 1, between });
    expect(held.length).toBeGreaterThan(2);
    const slots = held.flatMap((lock) => lock?.resources ?? []);
    expect(new Set(slots).size).toBe(held.length);
    for (const lock of held) await lock?.release();
    expect(errors).toEqual([]);
  });
});

describe("fencing on a Cluster", () => {
  it("counts in each slot, and refuses a name whose counter would be in another", async () => {
    const { redlock, errors } = await openOn(cluster, "ioredis", { fencing: true, retryCount: 0 });
    const resources = Array.from({ length: 10 }, () => fresh());
    for (const resource of resources) {
      const tokens: number[] = [];
      for (let count = 0; count < 3; count += 1) {
        const lock = await redlock.acquire(resource, 20_000);
        tokens.push(lock.fencingToken!);
        await lock.release();
      }
      expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    }
    expect(await rejection(redlock.acquire("a}b", 20_000))).toMatchObject({ code: "NO_QUORUM" });
    expect(errors.map(({ message }) => message).join()).toContain("a brace but no hash tag");
  });

  it("goes on from a counter that a client with a fast clock has raised", async () => {
    const { redlock } = await openOn(cluster, "node-redis", { fencing: true });
    const resource = fresh();
    await (await redlock.acquire(resource, 20_000)).release();
    const ahead = (Date.now() + 600_000) * 1000;
    for (const admin of cluster.admins)
      await admin.set(`quorlock:fence:{${resource}}`, ahead, "XX").catch(() => {});
    const lock = await redlock.acquire(resource, 20_000);
    expect(lock.fencingToken).toBeGreaterThan(ahead);
    await lock.release();
  });

  it("gives tokens in order while the slot moves back and forth under load", async () => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const resource = await resourceOf(source);
    const slot = await source.cluster("KEYSLOT", resource);
    const over = new AbortController();
    const tokens: number[] = [];
    // Each proposes by another clock: only the counter keeps their tokens in order.
    const workers = [0, 1_800_000, -1_800_000, 60_000].map(async (offset, index) => {
      const runtime = clockOff(offset);
      const library = libraries[index % 2]!;
      const { redlock } = await openOn(cluster, library, { fencing: true, runtime });
      while (!over.signal.aborted) {
        const lock = await redlock.acquire(resource, 20_000, { waitTimeout: 500 }).catch(() => undefined);
        if (!lock) continue;
        tokens.push(lock.fencingToken!);
        await lock.release().catch(() => undefined);
      }
    });
    const reshard = async (from: Redis, to: Redis) => {
      await moveSlot({ slot, from, to, keysAtOnce: 1, between: () => until("a moment", () => true) });
      const before = tokens.length;
      await until("locks are granted at the new place", () => tokens.length > before + 5);
    };
    for (let round = 0; round < 4; round += 1) {
      await reshard(source, target);
      await reshard(target, source);
    }
    over.abort();
    await Promise.all(workers);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
  });

  it("waits for the counter, where the rest of the slot has moved already", async () => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const resource = await resourceOf(source);
    const slot = await source.cluster("KEYSLOT", resource);
    const [ahead, behind] = [clockOff(1_800_000), clockOff(-1_800_000)];
    const holder = await openOn(cluster, "ioredis", { fencing: true, runtime: ahead });
    const waiter = await openOn(cluster, "ioredis", { fencing: true, runtime: behind });
    const first = await holder.redlock.acquire(resource, 20_000);
    let second: Lock | undefined;
    const waiting = waiter.redlock.acquire(resource, 20_000).then((lock) => {
      second = lock;
    });
    await until("it waits", async () => (await waitersOf(resource)) === 1);
    const [fromId, toId] = [await source.cluster("MYID"), await target.cluster("MYID")] as [string, string];
    await target.cluster("SETSLOT", slot, "IMPORTING", fromId);
    await source.cluster("SETSLOT", slot, "MIGRATING", toId);
    const counter = `quorlock:fence:{${resource}}`;
    const keys = await source.cluster("GETKEYSINSLOT", slot, 100);
    const { host, port } = target.options;
    const move = (names: string[]) => source.call("MIGRATE", host!, port!, "", 0, 5000, "KEYS", ...names);
    expect(keys).toContain(counter);
    await move(keys.filter((key) => key !== counter));
    await first.release();
    const refused = waiter.errors.length;
    await until(
      "it was refused, or granted",
      () => second !== undefined || waiter.errors.length > refused + 2,
    );
    await move([counter]);
    for (const admin of [target, source]) await admin.cluster("SETSLOT", slot, "NODE", toId);
    await waiting;
    expect(second!.fencingToken).toBeGreaterThan(first.fencingToken!);
  });
});

describe("a failover of a Cluster", () => {
  let failing: Fleet;

  beforeAll(async () => {
    // Of two masters, one has a replica.
    failing = await Fleet.start(3, { config: clusterConfig });
    const [primary, other, replica] = failing.admins as [Redis, Redis, Redis];
    await formCluster([primary, other]);
    const { host, port } = primary.options;
    await replica.cluster("MEET", host!, port!);
    const id = await primary.cluster("MYID");
    await until("the replica knows its primary", async () =>
      String(await replica.cluster("NODES")).includes(id),
    );
    await replica.cluster("REPLICATE", id);
    await until("the replica is up to date", async () =>
      (await replica.info("replication")).includes("master_link_status:up"),
    );
  });
  afterAll(() => failing?.stop());

  it("leaves waiters in their order, and tokens go on from the counters of the promoted replica", async () => {
    const [primary, , replica] = failing.admins as [Redis, Redis, Redis];
    const resource = await resourceOf(primary);
    const opened = await Promise.all(
      [0, 1_800_000, -1_800_000].map((offset, index) =>
        openOn(failing, libraries[index % 2]!, { fencing: true, runtime: clockOff(offset) }),
      ),
    );
    const tokens: number[] = [];
    const order: number[] = [];
    const first = await opened[1]!.redlock.acquire(resource, 60_000);
    tokens.push(first.fencingToken!);
    const waiting = [0, 2].map(async (place) => {
      const lock = await opened[place]!.redlock.acquire(resource, 60_000);
      order.push(place);
      tokens.push(lock.fencingToken!);
      await lock.release();
    });
    const queued = async () => (await primary.zcard(`quorlock:queue:{${resource}}`)) === 2;
    await until("both wait", queued);
    // It has all that the waiters rely on; what it had not yet would be lost, as a lock would be.
    await primary.wait(1, 5000);
    await failing.masters[0]!.kill();
    await replica.cluster("FAILOVER", "TAKEOVER");
    await until("the replica serves the slot", async () =>
      replica.get(resource).then(
        () => true,
        () => false,
      ),
    );
    await until(
      "it is released",
      async () => {
        const { outcome } = await first.release();
        return outcome === "released" || (await replica.get(resource)) === null;
        // The client deletes it again after 1, 3, 7, 15 and 31 s, and its library looks for the new primary meanwhile.
      },
      40_000,
    );
    await Promise.all(waiting);
    expect(tokens).toEqual([...new Set(tokens)].sort((a, b) => a - b));
    expect(order).toHaveLength(2);
  });
});
