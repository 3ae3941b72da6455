import { InvalidArgumentError, type NodeError, Redlock } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { clusterConfig, formCluster, moveSlot } from "@quorlock/testbed";
import { Cluster, type Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, rejection, timed } from "../fleet/fleet.ts";

// PROTOCOL 2.9, 12.6.

// A Cluster of two masters, and two ordinary ones, each a member of the quorum.
let cluster: Fleet;
let fleet: Fleet;
const clusters: Cluster[] = [];
const polling = { retryDelay: 20, retryJitter: 10, retryCount: -1, owner: false } as const;
/** A Cluster connects to its masters one after the other, when the first command for a slot comes. */
const nodeTimeout = 5000;

beforeAll(async () => {
  [cluster, fleet] = await Promise.all([Fleet.start(2, { config: clusterConfig }), Fleet.start(2)]);
  await formCluster(cluster.admins);
});
afterEach(() => {
  for (const client of clusters.splice(0)) client.disconnect();
  fleet.closeAll();
  cluster.closeAll();
});
afterAll(async () => {
  await Promise.all([cluster?.stop(), fleet?.stop()]);
});

function clusterClient(redisOptions: { password?: string } = {}, of = cluster): Cluster {
  const client = new Cluster(
    of.masters.map(({ host, port }) => ({ host, port })),
    // (An option of a Cluster has no effect on its nodes: many applications have one there.)
    { redisOptions: { scaleReads: "slave", ...redisOptions } as object, clusterRetryStrategy: () => 20 },
  );
  client.on("error", () => {});
  clusters.push(client);
  return client;
}

/** A Redlock on the Cluster alone. */
function openOn(of = cluster): Redlock {
  return new Redlock(clusterClient({}, of), { nodeTimeout, ...polling });
}

async function setPassword(password: string): Promise<void> {
  for (const admin of cluster.admins) await admin.config("SET", "requirepass", password);
}

describe("a Cluster", () => {
  it("that is there twice, by other startup nodes, votes once", async () => {
    const { host, port } = cluster.masters[1]!;
    const second = new Cluster([{ host: "localhost", port }]);
    clusters.push(second);
    expect(host).toBe("127.0.0.1");
    const single = fleet.open().clients[0]!;
    const redlock = new Redlock([clusterClient(), second, single], { nodeTimeout });
    const errors: NodeError[] = [];
    redlock.on("error", (error) => errors.push(error));
    for (let time = 0; time < 3; time += 1) {
      const lock = await redlock.acquire(fresh(), 20_000);
      const { votesFor } = await lock.attempts.at(-1)!;
      expect(votesFor.size).toBe(2);
      expect(votesFor).toContain(single);
      await lock.release();
    }
    // (On a busy machine a Cluster is UNREACHABLE while it looks for its masters.)
    const told = errors.flatMap(({ reason, message }) => (reason === "SAME_SERVER" ? message : []));
    expect(told).toEqual([expect.stringMatching(/one server, 127\.0\.0\.1:\d+;/)]);
  });

  it("with a rotated password continues with the password of the user's client", async () => {
    const client = clusterClient({ password: "old" });
    const redlock = new Redlock([client], { nodeTimeout, retryCount: 0 });
    const locked = async () => {
      const lock = await redlock.acquire(fresh(), 20_000).catch(() => undefined);
      await lock?.release();
      return lock !== undefined;
    };
    await setPassword("old");
    try {
      await until("it is locked", locked);
      client.options.redisOptions!.password = "new";
      await setPassword("new");
      for (const admin of cluster.admins)
        await admin.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
      let inRow = 0;
      await until("it is locked in every slot", async () => {
        inRow = (await locked()) ? inRow + 1 : 0;
        return inRow === 20;
      });
    } finally {
      await setPassword("");
    }
  });

  it("refuses a queue, fencing and names that no slot can hold", () => {
    const redlock = openOn();
    const [client] = redlock.clients;
    const single = fleet.open().clients[0]!;
    for (const [act, words] of [
      [
        () => new Redlock([client!, single], { fencing: true }),
        "a Redis Cluster grants no fencing tokens: compare a version in your database, or use three small servers beside the Cluster",
      ],
      [() => new Redlock([client!], { queue: true }), "a Redis Cluster keeps no queue"],
      [() => new Semaphore(redlock, "}permits", 2), "no common hash slot"],
      [() => new ReadWriteLock(redlock, "}report"), "no common hash slot"],
    ] as const) {
      expect(act).toThrow(InvalidArgumentError);
      expect(act).toThrow(words);
    }
    // Names that begin so are refused on a Cluster only.
    expect(new Semaphore(new Redlock(single), "}permits", 2).limit).toBe(2);
  });
});

describe("a slot that moves", () => {
  it("moves under load: clients lock in it, wait for each other, and nothing of theirs is in the way", async () => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const resource = await lockedBy(source);
    const slot = await source.cluster("KEYSLOT", resource);
    const over = new AbortController();
    let holders = 0;
    let grants = 0;
    const workers = Array.from({ length: 4 }, async () => {
      const redlock = new Redlock([clusterClient()], { nodeTimeout, retryDelay: 10, retryJitter: 5 });
      while (!over.signal.aborted) {
        const lock = await redlock.acquire(resource, 20_000, { waitTimeout: 500 }).catch(() => undefined);
        if (!lock) continue;
        holders += 1;
        expect(holders).toBe(1);
        grants += 1;
        await lock.verify().catch(() => undefined);
        holders -= 1;
        await lock.release();
      }
    });
    const reshard = async (from: Redis, to: Redis) => {
      const before = grants;
      const between = () => until("locks are granted while the slot moves", () => grants > before + 3);
      await moveSlot({ slot, from, to, keysAtOnce: 1, between });
    };
    for (let round = 0; round < 5; round += 1) {
      const before = grants;
      await reshard(source, target);
      await until("locks are granted at the new place", () => grants > before + 3);
      await reshard(target, source);
    }
    over.abort();
    await Promise.all(workers);
  });

  it("while only some keys have moved, each can be extended and released; several at once get TRYAGAIN", async () => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const tag = await lockedBy(source);
    const slot = await source.cluster("KEYSLOT", tag);
    const redlock = new Redlock([clusterClient()], { nodeTimeout, retryCount: 0, owner: false });
    const reasons: string[] = [];
    redlock.on("error", ({ reason }) => reasons.push(reason));
    const names = ["1", "2", "3"].map((name) => `{${tag}}${name}`);
    const locks = await Promise.all(names.map((name) => redlock.acquire(name, 20_000)));
    let looks = 0;
    const between = async (): Promise<void> => {
      looks += 1;
      if (looks !== 2) return;
      // In one turn, so in one batch.
      await Promise.all(locks.map((lock) => lock.extend(30_000)));
      const refused = redlock.acquire([`{${tag}}4`, `{${tag}}5`], 20_000);
      const { result: error, net } = await timed(() => rejection(refused));
      expect(net).toBeLessThan(nodeTimeout / 2);
      expect(error).toMatchObject({ code: "NO_QUORUM" });
      await Promise.all(locks.map(async (lock) => expect((await lock.release()).outcome).toBe("released")));
    };
    expect(await moveSlot({ slot, from: source, to: target, keysAtOnce: 1, between })).not.toEqual([]);
    expect(looks).toBeGreaterThanOrEqual(2);
    expect(new Set(reasons)).toEqual(new Set(["TRYAGAIN"]));
    await (await redlock.acquire([`{${tag}}4`, `{${tag}}5`], 20_000)).release();
  });

  it("keeps writers out by readers, and readers by a writer, wherever their keys are", async () => {
    const [source, target] = cluster.admins as [Redis, Redis];
    const name = await lockedBy(source);
    const slot = await source.cluster("KEYSLOT", name);
    const [holder, other] = [openOn(), openOn()].map((redlock) => new ReadWriteLock(redlock, name));
    for (const isReading of [true, false]) {
      const lock = await (isReading ? holder!.read(20_000) : holder!.write(20_000));
      const shutOut = async () => {
        const trying = isReading ? other!.tryWrite(20_000) : other!.tryRead(20_000);
        expect(await trying.catch(() => null)).toBeNull();
      };
      const [from, to] = isReading ? [source, target] : [target, source];
      expect(await moveSlot({ slot, from, to, keysAtOnce: 1, between: shutOut })).not.toEqual([]);
      await shutOut();
      await lock.release();
    }
  });
});

const serves = (master: Redis, resource: string): Promise<boolean> =>
  master.get(resource).then(
    () => true,
    () => false,
  );

/** A resource whose slot this master has. */
async function lockedBy(master: Redis): Promise<string> {
  for (;;) {
    const resource = fresh();
    if (await serves(master, resource)) return resource;
  }
}

describe("a failover", () => {
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

  it("leaves a lock that the promoted replica has, and a waiter gets it once it is released", async () => {
    const [primary, , replica] = failing.admins as [Redis, Redis, Redis];
    const resource = await lockedBy(primary);
    const [waiter, holder] = [openOn(failing), openOn(failing)];
    const lock = await holder.acquire(resource, 60_000);
    let isReleased = false;
    const waiting = waiter.acquire(resource, 60_000).then((granted) => {
      expect(isReleased).toBe(true);
      return granted.release();
    });
    // A lock that the replica had not yet would be lost.
    await primary.wait(1, 5000);
    await failing.masters[0]!.kill();
    await replica.cluster("FAILOVER", "TAKEOVER");
    await until("the replica serves the slot", () => serves(replica, resource), 30_000);
    isReleased = true;
    await until(
      "it is released",
      async () => {
        const { outcome } = await lock.release();
        return outcome === "released" || (await replica.get(resource)) === null;
        // The client deletes it again after 1, 3, 7, 15 and 31 s, and its library looks for the new primary meanwhile.
      },
      40_000,
    );
    await waiting;
    // Each finds the promoted one.
    for (const redlock of [waiter, holder])
      await (await redlock.acquire(resource, 60_000, { waitTimeout: 20_000 })).release();
    // (The deletes alone may take 31 s.)
  }, 90_000);
});
