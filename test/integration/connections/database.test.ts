import { once } from "node:events";
import type { Socket } from "node:net";
import { type Lock, LockLostError, Redlock, ResourceLockedError } from "@quorlock/redlock";
import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { type Master, startProxy } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type OpenOptions, rejection } from "../fleet/fleet.ts";
import { WireTap } from "../fleet/wire-tap.ts";

// PROTOCOL 2.15.

// A lock lives in the database that its clients had selected. A client that switches to another one abandons its vote.

const fleet = Fleet.forTests(3);
const ttl = 20_000;

/** One for each master, in database 1. */
let elsewhere: readonly Redis[] = [];
const hung: Master[] = [];
beforeAll(() => {
  elsewhere = fleet.masters.map(({ host, port }) => new Redis({ host, port, db: 1 }));
});
afterEach(async () => {
  for (const master of hung.splice(0)) await master.resume();
  // A key of a database that was left stays for its ttl.
  for (const client of elsewhere) await client.flushdb();
});
afterAll(() => {
  for (const client of elsewhere) client.disconnect();
});

const keysElsewhere = async (): Promise<string[]> =>
  (await Promise.all(elsewhere.map((client) => client.keys("*")))).flat();
const valuesElsewhere = (resource: string) => Promise.all(elsewhere.map((client) => client.get(resource)));
const none = [null, null, null];

/** PROTOCOL 2.15: a key of the lock that is left in the previous database blocks others for one ttl at most. */
async function whatIsLeftExpires(name: string, least = 0): Promise<void> {
  const left = fleet.admins.map(async (admin) => {
    const keys = await admin.keys(`*${name}*`);
    return Promise.all(keys.map(async (key) => ({ key, expiresIn: await admin.pttl(key) })));
  });
  const found = (await Promise.all(left)).flat();
  expect(found.length).toBeGreaterThanOrEqual(least);
  for (const { key, expiresIn } of found) {
    expect(expiresIn, key).toBeGreaterThan(0);
    expect(expiresIn, key).toBeLessThanOrEqual(ttl);
  }
}

interface Connecting {
  readonly clients: readonly { select(database: number): Promise<unknown> }[];
  readonly close: () => void;
}

function closeAll(clients: readonly ({ disconnect(): unknown } | { destroy(): unknown })[]): void {
  for (const client of clients) {
    if ("destroy" in client) client.destroy();
    else client.disconnect();
  }
}

/** Opens clients, which are still connecting. */
const connecting =
  (Client: typeof Redis) =>
  (db: number): Connecting => {
    const clients = fleet.masters.map(({ host, port }) =>
      new Client({ host, port, db }).on("error", () => {}),
    );
    return { clients, close: () => closeAll(clients) };
  };
const connectingNodeRedis =
  (create: typeof createClient) =>
  (database: number): Connecting => {
    const clients = fleet.masters.map(({ host, port }) => {
      const client = create({ socket: { host, port }, database }).on("error", () => {});
      client.connect().catch(() => {});
      return client;
    });
    return { clients, close: () => closeAll(clients) };
  };

const open = (options: OpenOptions = {}) => fleet.openWarm({ nodeTimeout: 900, ...options });

async function hang(masters: readonly Master[]): Promise<void> {
  for (const master of masters) {
    await master.hang();
    hung.push(master);
  }
}

async function resume(): Promise<void> {
  for (const master of hung.splice(0)) await master.resume();
}

function isLostBySwitch(lock: Lock): void {
  expect([lock.state, lock.remaining()]).toEqual(["lost", 0]);
  expect(lock.signal.reason).toBeInstanceOf(LockLostError);
  expect((lock.signal.reason as LockLostError).why).toMatch(/switched from database 0 to 1/);
}

/**
 * The lock of a call that was under way when its clients were switched. If the votes came before the reply to SELECT,
 * it was granted in the previous database and is lost by now; the next call is granted in the new one.
 */
async function afterSwitch(acquiring: Promise<Lock>, again: () => Promise<Lock>): Promise<Lock> {
  const lock = await acquiring;
  if (lock.state === "held") return lock;
  isLostBySwitch(lock);
  await lock.release();
  return again();
}

describe("a lock that is held when a client is switched", () => {
  it.each([
    ["all clients", [0, 1, 2]],
    ["two of three", [0, 2]],
    ["one of three", [1]],
  ])("is lost at once: %s", async (_, which) => {
    const { redlock, clients } = await open();
    const lost: unknown[] = [];
    redlock.on("lost", (...[lock, { reason, isFault }]) => lost.push([lock, reason, isFault]));
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    const { signal } = lock;
    // Told with the first reply, before anything could be sent.
    await Promise.race(which.map((index) => clients[index]!.select(1)));
    expect([signal.aborted, lost]).toEqual([true, [[lock, "DATABASE", true]]]);
    isLostBySwitch(lock);
    expect(await rejection(lock.extend(ttl))).toBeInstanceOf(LockLostError);
    expect(await lock.verify()).toBe(false);
    expect(await keysElsewhere()).toEqual([]);
    await whatIsLeftExpires(lock.resources[0]!, 3);
  });

  it.each([
    ["6", Redis],
    ["5", Redis5],
    ["iovalkey", Valkey as unknown as typeof Redis],
  ])("is kept when the SELECT is refused, and more are granted: ioredis %s", async (_, Client) => {
    const { redlock, clients, errors } = await open({ Client, retryCount: 0 });
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    for (const client of clients) await expect(client.select(99)).rejects.toThrow("out of range");
    expect(lock.signal.aborted).toBe(false);
    await lock.extend(ttl);
    await (await redlock.acquire(fresh(), ttl)).release();
    expect((await lock.release()).outcome).toBe("released");
    expect(errors).toEqual([]);
    // A later one is followed.
    await Promise.all(clients.map((client) => client.select(1)));
    const next = await redlock.acquire(fresh(), ttl);
    await Promise.all(next.attempts);
    expect(await valuesElsewhere(next.resources[0]!)).toEqual([next.value, next.value, next.value]);
    await Promise.all((await next.release()).attempts);
  });

  const libraries = [
    ["ioredis 6", Redis],
    ["ioredis 5", Redis5],
    ["iovalkey", Valkey as unknown as typeof Redis],
  ] as const;

  describe.each(libraries)("after the client was refused a SELECT, by %s", (_, Client) => {
    it.each([
      ["the first", {}, [], 0],
      ["of its options", { db: 1 }, [], 1],
      ["that it selected", {}, [1], 1],
    ] as const)("is in the database of the client: %s", async (_what, options, selected, expected) => {
      const clients = fleet.masters.map(({ host, port }) =>
        new Client({ host, port, ...options }).on("error", () => {}),
      );
      try {
        for (const client of clients) {
          await client.ping();
          for (const database of selected) await client.select(database);
          await expect(client.select(99)).rejects.toThrow("out of range");
        }
        const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 900 });
        const lock = await redlock.acquire(fresh(), ttl);
        await Promise.all(lock.attempts);
        const [name] = lock.resources as [string];
        const there = expected === 1 ? valuesElsewhere(name) : fleet.values(name);
        expect(await there).toEqual([lock.value, lock.value, lock.value]);
        await Promise.all((await lock.release()).attempts);
      } finally {
        for (const client of clients) client.disconnect();
      }
    });
  });

  const stillConnecting: readonly [string, (db: number) => Connecting, number][] = [
    // ioredis selects what was wanted last, is refused, and stays in the first.
    ["ioredis 6", connecting(libraries[0][1]), 0],
    ["ioredis 5", connecting(libraries[1][1]), 0],
    ["iovalkey", connecting(libraries[2][1]), 0],
    ["node-redis 6", connectingNodeRedis(createClient), 1],
    ["node-redis 5", connectingNodeRedis(createClient5), 1],
  ];

  describe.each(stillConnecting)(
    "by a Redlock that was created while %s was connecting",
    (_, openAll, left) => {
      it.each([
        ["the first, before a SELECT that is refused", 0, false, 0],
        ["where it is, before a SELECT that is refused", 1, false, left],
        ["the first, after a SELECT that is refused", 0, true, 0],
        ["where it is, after a SELECT that is refused", 1, true, left],
      ] as const)("is in the database of the client: %s", async (_what, db, isAfter, expected) => {
        const { clients, close } = openAll(db);
        try {
          const select = () => Promise.allSettled(clients.map((client) => client.select(99)));
          const early = isAfter ? select() : undefined;
          const redlock = new Redlock(clients as never, { owner: false, retryCount: 0, nodeTimeout: 2000 });
          const refused = early ?? select();
          const acquire = async () => {
            const lock = await redlock.acquire(fresh(), ttl);
            await Promise.all(lock.attempts);
            return lock;
          };
          let lock = await acquire();
          for (const { status } of await refused) expect(status).toBe("rejected");
          if (!isAfter) {
            // A Redlock that was there before the refusal learns of it from the client.
            await lock.release();
            await vi.waitFor(async () => {
              lock = await acquire();
              const [name] = lock.resources as [string];
              const found = await (expected === 0 ? fleet.values(name) : valuesElsewhere(name));
              if (found.some((value) => value !== lock.value)) await lock.release();
              expect(found).toEqual([lock.value, lock.value, lock.value]);
            }, 10_000);
          }
          const three = [lock.value, lock.value, lock.value];
          const [here, there] = expected === 0 ? [three, none] : [none, three];
          expect(await fleet.values(lock.resources[0]!)).toEqual(here);
          expect(await valuesElsewhere(lock.resources[0]!)).toEqual(there);
          await lock.extend(ttl);
          await Promise.all((await lock.release()).attempts);
        } finally {
          close();
        }
      });
    },
  );

  describe.each(libraries)("by a Redlock that was created while %s was reconnecting", (_, Client) => {
    it("is in the database that the client had selected before, and in no other meanwhile", async () => {
      const clients = fleet.masters.map(({ host, port }) =>
        new Client({ host, port, retryStrategy: () => 10 }).on("error", () => {}),
      );
      try {
        await Promise.all(clients.map((client) => client.select(1)));
        const connections = clients.map((client) => once(client, "connecting"));
        for (const client of clients) (client as unknown as { stream: Socket }).stream.destroy();
        await Promise.all(connections);
        const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 2000 });
        const lock = await redlock.acquire(fresh(), ttl);
        await Promise.all(lock.attempts);
        await Promise.all(clients.map((client) => client.ping()));
        expect(lock.state).toBe("held");
        expect(await valuesElsewhere(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
        await Promise.all((await lock.release()).attempts);
      } finally {
        for (const client of clients) client.disconnect();
      }
    });
  });

  describe.each(libraries)("by a Redlock whose client reconnects, by %s", (_, Client) => {
    it.each([
      ["the one selected before", undefined, 1],
      ["the one selected meanwhile", 2, 2],
      ["the first, selected again meanwhile", 0, 0],
      ["that of the options, after a SELECT that was refused meanwhile", 99, 0],
    ] as const)("is in the database of the client: %s", async (_what, meanwhile, expected) => {
      const clients = fleet.masters.map(({ host, port }) =>
        new Client({ host, port, retryStrategy: () => 10 }).on("error", () => {}),
      );
      try {
        const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 900 });
        await Promise.all(clients.map((client) => client.select(1)));
        await (await redlock.acquire(fresh(), ttl)).release();
        const ready = clients.map((client) => once(client, "ready"));
        // In the event: the client connects again some milliseconds later.
        const selected = clients.map(
          (client) =>
            new Promise<unknown>((resolve) => {
              const select = () => resolve(meanwhile === undefined ? undefined : client.select(meanwhile));
              client.once("close", select);
            }),
        );
        for (const client of clients) client.disconnect(true);
        await Promise.allSettled(selected);
        await Promise.all(ready);
        for (const client of clients) expect(await client.client("INFO")).toContain(` db=${expected} `);
        await until("locks are there", async () => {
          const lock = await redlock.acquire(fresh(), ttl).catch(() => undefined);
          if (!lock) return false;
          await Promise.all(lock.attempts);
          const found = await Promise.all(clients.map((client) => client.get(lock.resources[0]!)));
          await Promise.all((await lock.release()).attempts);
          return found.every((value) => value === lock.value);
        });
      } finally {
        for (const client of clients) client.disconnect();
      }
    });
  });

  it("is in the database of a client that took long to connect, and was refused a SELECT", async () => {
    const proxies = await Promise.all(fleet.masters.map(startProxy));
    for (const proxy of proxies) proxy.delay(150);
    const clients = proxies.map(({ port }) => new Redis({ port }).on("error", () => {}));
    try {
      const refused = Promise.allSettled(clients.map((client) => client.select(99)));
      const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 8000 });
      const lock = await redlock.acquire(fresh(), ttl);
      for (const { status } of await refused) expect(status).toBe("rejected");
      expect((await fleet.values(lock.resources[0]!)).filter(Boolean).length).toBeGreaterThan(1);
      for (const proxy of proxies) proxy.delay(0);
      await Promise.all((await lock.release()).attempts);
    } finally {
      for (const client of clients) client.disconnect();
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    }
  });

  it("is in the database that the client selected, while another command blocks the client", async () => {
    const clients = fleet.masters.map(({ host, port }) => new Redis({ host, port }));
    try {
      await Promise.all(clients.map((client) => client.select(1)));
      for (const client of clients) client.blpop("nothing", 0).catch(() => {});
      const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 2000 });
      const lock = await redlock.acquire(fresh(), ttl);
      await Promise.all(lock.attempts);
      expect(await valuesElsewhere(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
      await Promise.all((await lock.release()).attempts);
    } finally {
      for (const client of clients) client.disconnect();
    }
  });

  it("is not repaired in the other database by its renewals, and a second client gets it after one ttl", async () => {
    const { redlock, clients } = await open();
    const rival = (await open()).redlock;
    const resource = fresh();
    const overlaps: boolean[] = [];
    await redlock.using(resource, 1500, async (signal, lock) => {
      await Promise.all(lock.attempts);
      await Promise.all(clients.map((client) => client.select(1)));
      expect(signal.aborted).toBe(true);
      const theirs = await rival.acquire(resource, 1500, { waitTimeout: 8000 });
      overlaps.push(lock.state === "held");
      await theirs.release();
    });
    expect(overlaps).toEqual([false]);
    expect(await keysElsewhere()).toEqual([]);
  });

  it("keeps its key for one ttl: nothing is sent to the previous database, by a release either", async () => {
    const { redlock, clients, errors } = await open();
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    const taps = await Promise.all(fleet.admins.map((admin) => WireTap.on(admin)));
    await Promise.all(clients.map((client) => client.select(1)));
    await lock.release();
    for (const tap of taps) {
      const sent = await tap.commands();
      expect(
        sent.filter(({ database, words }) => database === "0" && words.includes(lock.resources[0]!)),
      ).toEqual([]);
      await tap[Symbol.asyncDispose]();
    }
    expect(await fleet.values(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
    await whatIsLeftExpires(lock.resources[0]!, 3);
    expect(errors).toEqual([]);
  });

  it("is not handed on to the next call of its process, though it is released as soon as it is lost", async () => {
    const { redlock, clients } = await open();
    const resource = fresh();
    const first = await redlock.acquire(resource, ttl);
    const second = redlock.acquire(resource, ttl, { waitTimeout: ttl });
    await until("the second is queued", async () => {
      const masters = await redlock.inspect(resource);
      return masters.every(({ queueLength }) => queueLength === 1);
    });
    const third = redlock.acquire(resource, ttl, { waitTimeout: ttl });
    // The masters have answered the third before this.
    await redlock.inspect(resource);
    await first.release();
    const holding = await second;
    await Promise.all(holding.attempts);
    holding.signal.addEventListener("abort", () => void holding.release());
    await clients[0]!.select(1);
    const next = await third;
    expect(next.state).toBe("held");
    isLostBySwitch(holding);
    expect(next.value).not.toBe(holding.value);
    await Promise.all((await next.release()).attempts);
    expect(await keysElsewhere()).toEqual([]);
  });

  it("stays lost when the client is switched back, and is not found by its extension", async () => {
    const { redlock, clients } = await open();
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    for (const database of [1, 0]) await Promise.all(clients.map((client) => client.select(database)));
    isLostBySwitch(lock);
    expect(await rejection(lock.extend(ttl))).toBeInstanceOf(LockLostError);
  });

  it.each([
    ["a transaction", (client: Redis) => client.multi().set("x-in-1", "").select(1).exec()],
    ["a pipeline", (client: Redis) => client.pipeline().select(1).exec()],
  ])("is lost by a switch in %s", async (_, switchIt) => {
    const { redlock, clients } = await open();
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(clients.map(switchIt));
    isLostBySwitch(lock);
    expect(await keysElsewhere()).toEqual([]);
  });

  it("is not touched by a SELECT that ioredis does not know of", async () => {
    const { redlock, clients } = await open();
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(clients.map((client) => client.call("SELECT", 1)));
    await lock.extend(ttl);
    expect(lock.state).toBe("held");
    expect(await fleet.values(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
    await lock.release();
    expect(await keysElsewhere()).toEqual([]);
  });

  it("is lost by a switch of a client that is offline, and nothing is repaired when it is back", async () => {
    const { redlock, clients } = await open({ client: { retryStrategy: () => 50 } });
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    for (const client of clients) client.disconnect(true);
    await Promise.all(clients.map((client) => client.select(1)));
    isLostBySwitch(lock);
    expect(await keysElsewhere()).toEqual([]);
    const next = await redlock.acquire(fresh(), ttl, { waitTimeout: 5000 });
    expect((await valuesElsewhere(next.resources[0]!)).filter(Boolean).length).toBeGreaterThan(1);
    await next.release();
  });

  it("in the database that the client was switched to, it outlives a reconnect of the client", async () => {
    const { redlock, clients } = await open({ client: { retryStrategy: () => 50 } });
    await Promise.all(clients.map((client) => client.select(1)));
    const lock = await redlock.acquire(fresh(), ttl);
    for (const client of clients) {
      const ready = new Promise((resolve) => client.once("ready", resolve));
      client.disconnect(true);
      await ready;
      await client.ping();
    }
    await lock.extend(ttl);
    expect(lock.state).toBe("held");
    await lock.release();
    await until("nothing is left", async () => (await keysElsewhere()).length === 0);
  });

  it("is lost by every Redlock over that client", async () => {
    const { redlock, clients } = await open();
    const other = new Redlock([clients[0]!], { owner: false, nodeTimeout: 900 });
    const queueless = new Redlock(clients, {
      owner: false,
      nodeTimeout: 900,
      queue: false,
      groupCommit: false,
    });
    const locks = await Promise.all([redlock, other, queueless].map((one) => one.acquire(fresh(), ttl)));
    await clients[0]!.select(1);
    for (const lock of locks) isLostBySwitch(lock);
    expect(await keysElsewhere()).toEqual([]);
  });

  it("is lost without scripts as well", async () => {
    const { redlock, clients } = await fleet.openWarm({ scripts: false, nodeTimeout: 900 });
    const resource = fresh();
    const held = redlock.using(resource, ttl, async (signal, lock) => {
      await Promise.all(clients.map((client) => client.select(1)));
      expect(signal.aborted).toBe(true);
      isLostBySwitch(lock);
    });
    await held;
    expect(await keysElsewhere()).toEqual([]);
    const next = await redlock.acquire(resource, ttl);
    expect((await valuesElsewhere(resource)).filter(Boolean).length).toBeGreaterThan(1);
    await next.release();
  });

  it.each(["permit", "read", "write", "downgraded"])("is lost: a %s", async (kind) => {
    const { redlock, clients } = await open();
    const name = fresh(kind);
    const semaphore = new Semaphore(redlock, name, 2);
    const document = new ReadWriteLock(redlock, name);
    const lock =
      kind === "permit"
        ? await semaphore.acquire(ttl)
        : kind === "read"
          ? await document.read(ttl)
          : await document.write(ttl);
    const held =
      kind === "downgraded" ? await (lock as Awaited<ReturnType<typeof document.write>>).downgrade() : lock;
    await Promise.all(clients.map((client) => client.select(1)));
    isLostBySwitch(held);
    expect(await rejection(held.extend(ttl))).toBeInstanceOf(LockLostError);
    expect(await keysElsewhere()).toEqual([]);
    await whatIsLeftExpires(name, 2);
  });

  it("was resumed: it is lost, and not found elsewhere", async () => {
    const { redlock } = await open();
    const { redlock: receiver, clients } = await open();
    const lock = await redlock.acquire(fresh(), ttl);
    const resumed = receiver.resume(await lock.detach());
    await resumed.extend(ttl);
    expect(resumed.state).toBe("held");
    await Promise.all(clients.map((client) => client.select(1)));
    isLostBySwitch(resumed);
    expect(await keysElsewhere()).toEqual([]);
  });

  it("was resumed and not yet asked for: it ends as well", async () => {
    const { redlock } = await open();
    const { redlock: receiver, clients } = await open();
    const lock = await redlock.acquire(fresh(), ttl);
    const resumed = receiver.resume(await lock.detach());
    await Promise.all(clients.map((client) => client.select(1)));
    expect(await rejection(resumed.extend(ttl))).toBeInstanceOf(LockLostError);
    isLostBySwitch(resumed);
    expect(await keysElsewhere()).toEqual([]);
  });
});

describe("a call that is under way when a client is switched", () => {
  it.each([[[0, 1, 2]], [[0]], [[2, 1]]])("acquire: no vote of before counts (%j)", async (which) => {
    const { redlock, clients } = await open({ nodeTimeout: 3000 });
    const resource = fresh();
    await hang(fleet.masters.slice(0, 2));
    const acquire = () => redlock.acquire(resource, ttl, { retryDelay: 20 });
    const acquiring = acquire();
    // The vote of the third is there.
    await until("a vote has arrived", async () => (await fleet.admins[2]!.get(resource)) !== null);
    const switched = which.map((index) => clients[index]!.select(1));
    await resume();
    await Promise.all(switched);
    const lock = await afterSwitch(acquiring, acquire);
    await Promise.all(lock.attempts);
    const here = await fleet.values(resource);
    const there = await valuesElsewhere(resource);
    for (const index of [0, 1, 2]) {
      const isSwitched = which.includes(index);
      expect(there[index]).toBe(isSwitched ? lock.value : null);
      if (!isSwitched) expect(here[index]).toBe(lock.value);
    }
    expect(lock.state).toBe("held");
    await whatIsLeftExpires(resource);
    await lock.release();
    await until("nothing is left", async () => (await keysElsewhere()).length === 0);
  });

  it("tryAcquire is one attempt in the new database", async () => {
    const { redlock, clients } = await open({ nodeTimeout: 3000 });
    const resource = fresh();
    await hang(fleet.masters.slice(0, 2));
    const tryOnce = async () => (await redlock.tryAcquire(resource, ttl))!;
    const trying = tryOnce();
    await until("a vote has arrived", async () => (await fleet.admins[2]!.get(resource)) !== null);
    const switched = clients.map((client) => client.select(1));
    await resume();
    await Promise.all(switched);
    const lock = await afterSwitch(trying, tryOnce);
    expect(lock.state).toBe("held");
    await whatIsLeftExpires(resource);
    await Promise.all((await lock.release()).attempts);
  });

  it("an extension comes to nothing, and repairs nothing elsewhere", async () => {
    const { redlock, clients } = await open({ nodeTimeout: 3000 });
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    await hang(fleet.masters);
    const extending = lock.extend(ttl).catch((error: unknown) => error);
    const switched = clients.map((client) => client.select(1));
    await resume();
    await Promise.all(switched);
    const extended = await extending;
    // Unless its quorum answered before the replies to SELECT.
    if (extended !== lock) expect(extended).toBeInstanceOf(LockLostError);
    isLostBySwitch(lock);
    expect(await keysElsewhere()).toEqual([]);
  });

  it.each([{}, { fencing: true }])(
    "a waiter waits in the other database, and what is granted to it in the previous one expires (%j)",
    async (options) => {
      const { redlock, clients } = await open(options);
      const rival = (await open(options)).redlock;
      const third = (await open(options)).redlock;
      const resource = fresh();
      const theirs = await fleet.hold(resource, ttl, rival);
      const waiting = redlock.acquire(resource, 1500, { waitTimeout: 30_000 });
      const queued = async (length: number): Promise<boolean> =>
        (await rival.inspect(resource)).every(({ queueLength }) => queueLength === length);
      await until("it stands in the queues", () => queued(1));
      const behind = third.acquire(resource, ttl, { waitTimeout: 30_000 });
      await until("a waiter is queued behind it", () => queued(2));
      await Promise.all(clients.map((client) => client.select(1)));
      const lock = await waiting;
      await Promise.all(lock.attempts);
      expect(
        (await valuesElsewhere(resource)).filter((value) => value === lock.value).length,
      ).toBeGreaterThan(1);
      await Promise.all((await lock.release()).attempts);
      // The first in the queues is a waiter that has gone.
      await theirs.release();
      const next = await behind;
      expect((await fleet.values(resource)).filter((value) => value === next.value).length).toBeGreaterThan(
        1,
      );
      await next.release();
    },
  );
});

describe("a client that is switched before the first lock", () => {
  it("is followed", async () => {
    const { redlock, clients } = fleet.open({ nodeTimeout: 8000 });
    const switched = clients.map((client) => client.select(1));
    const acquire = () => redlock.acquire(fresh(), ttl);
    const first = acquire();
    await Promise.all([first, ...switched]);
    const lock = await afterSwitch(first, acquire);
    await Promise.all(lock.attempts);
    expect(await valuesElsewhere(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
    await whatIsLeftExpires(lock.resources[0]!);
    await lock.release();
  });

  it("after the call: the lock is in the new database", async () => {
    const { redlock, clients } = fleet.open({ nodeTimeout: 8000 });
    const resource = fresh();
    const acquire = () => redlock.acquire(resource, ttl, { retryDelay: 20 });
    const acquiring = acquire();
    await Promise.all(clients.map((client) => client.select(1)));
    const lock = await afterSwitch(acquiring, acquire);
    await Promise.all(lock.attempts);
    expect(await valuesElsewhere(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
    await whatIsLeftExpires(resource);
    await lock.release();
  });
});

describe("a server that refuses SELECT", () => {
  it.each([
    ["6", Redis],
    ["5", Redis5],
  ])("while it runs a long script gives no votes of database 0, with ioredis %s", async (_, Client) => {
    const [master] = fleet.masters as [Master];
    const admin = fleet.admin(master);
    const options = { on: [master], Client, client: { db: 1, enableReadyCheck: false }, retryCount: 0 };
    const resource = fresh();
    const held = await (await open(options)).redlock.acquire(resource, ttl);
    await admin.config("SET", "busy-reply-threshold", "1");
    const script = elsewhere[0]!.eval("while true do end", 0).catch(String);
    await until("it is busy", () =>
      admin.ping().then(
        () => false,
        () => true,
      ),
    );
    const rival = fleet.open(options).redlock;
    await expect(rival.acquire(resource, ttl)).rejects.toThrow("quorum");
    await admin.script("KILL");
    expect(await script).toContain("killed");
    await admin.config("SET", "busy-reply-threshold", "5000");
    await until("it votes", async () => (await rival.inspect("anything"))[0]?.unreachable === undefined);
    await expect(rival.acquire(resource, ttl)).rejects.toThrow(ResourceLockedError);
    await held.release();
  });

  it.each([
    ["6", Redis],
    ["5", Redis5],
  ])("gets no command behind the refusal either, with ioredis %s", async (_, Client) => {
    const [master] = fleet.masters as [Master];
    const admin = fleet.admin(master);
    await admin.call("ACL", "SETUSER", "x", "on", ">x", "~*", "&*", "+@all", "-select");
    const credentials = { username: "x", password: "x" };
    // Nothing else that is awaited before the connection counts as ready.
    const client = { db: 1, enableReadyCheck: false, disableClientInfo: true, ...credentials };
    const { redlock } = fleet.open({ on: [master], Client, client, retryCount: 0 });
    const resource = fresh();
    await expect(redlock.acquire(resource, ttl)).rejects.toThrow("quorum");
    expect(await admin.get(resource)).toBeNull();
    await admin.call("ACL", "DELUSER", "x");
  });
});
