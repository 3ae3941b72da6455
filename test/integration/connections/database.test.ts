import { once } from "node:events";
import type { Socket } from "node:net";
import { type Lock, LockLostError, Redlock } from "@quorlock/redlock";
import type { Master } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis-5";
import { Redis as Valkey } from "iovalkey";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
// The package makes nodes of clients and exports no function for it.
import { IoredisDriver } from "../../../packages/redlock/src/adapters/ioredis/driver.ts";
import { until } from "../../contract/until.ts";
import { Fleet, fresh, type OpenOptions, rejection } from "../fleet/fleet.ts";

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
  await resume();
  // A key of a database that was left stays for its ttl.
  for (const client of elsewhere) await client.flushdb();
});
afterAll(() => {
  for (const client of elsewhere) client.disconnect();
});

const endAfterTest = (clients: readonly Redis[]): void =>
  onTestFinished(() => void clients.map((client) => client.disconnect()));

const libraries = [
  ["ioredis 6", Redis],
  ["ioredis 5", Redis5],
  ["iovalkey", Valkey as unknown as typeof Redis],
] as const;

/** One client for each master. */
function opened(Client: typeof Redis, options: { db?: 1; retryStrategy?(): number } = {}): readonly Redis[] {
  const clients = fleet.masters.map(({ host, port }) => new Client({ host, port, ...options }));
  for (const client of clients) client.on("error", () => {});
  endAfterTest(clients);
  return clients;
}

const keysElsewhere = async (): Promise<string[]> =>
  (await Promise.all(elsewhere.map((client) => client.keys("*")))).flat();
const valuesElsewhere = (resource: string) => Promise.all(elsewhere.map((client) => client.get(resource)));

/** A lock is granted by all masters, in the database that `valuesOf` reads. */
async function locks(redlock: Redlock, valuesOf: typeof valuesElsewhere): Promise<void> {
  const lock = await redlock.acquire(fresh(), ttl);
  await Promise.all(lock.attempts);
  expect(await valuesOf(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
  await Promise.all((await lock.release()).attempts);
}

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
  it("is lost at once", async () => {
    const { redlock, clients } = await open();
    const lost: unknown[] = [];
    redlock.on("lost", (...[lock, { reason, isFault }]) => lost.push([lock, reason, isFault]));
    const lock = await redlock.acquire(fresh(), ttl);
    await Promise.all(lock.attempts);
    const { signal } = lock;
    // Told with the first reply, before anything could be sent.
    await Promise.race(clients.map((client) => client.select(1)));
    expect([signal.aborted, lost]).toEqual([true, [[lock, "DATABASE", true]]]);
    isLostBySwitch(lock);
    expect(await rejection(lock.extend(ttl))).toBeInstanceOf(LockLostError);
    expect(await lock.verify()).toBe(false);
    expect(await keysElsewhere()).toEqual([]);
    await whatIsLeftExpires(lock.resources[0]!, 3);
  });

  it.each(libraries)("is kept when the SELECT is refused, and more are granted: %s", async (_, Client) => {
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
    await locks(redlock, valuesElsewhere);
  });

  describe.each(libraries)("after the client was refused a SELECT, by %s", (_, Client) => {
    it.each([
      ["the first", {}, [], 0],
      ["of its options", { db: 1 }, [], 1],
      ["that it selected", {}, [1], 1],
    ] as const)("is in the database of the client: %s", async (_what, options, selected, expected) => {
      const clients = opened(Client, options);
      for (const client of clients) {
        await client.ping();
        for (const database of selected) await client.select(database);
        await expect(client.select(99)).rejects.toThrow("out of range");
      }
      const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 900 });
      await locks(redlock, expected === 1 ? valuesElsewhere : (name) => fleet.values(name));
    });
  });

  // ioredis selects what was wanted last, is refused, and stays in the first.
  describe.each(libraries)("by a Redlock that was created while %s was connecting", (_, Client) => {
    it.each([
      ["before", false],
      ["after", true],
    ])("is in the first database, %s a SELECT that is refused", async (_what, isAfter) => {
      const clients = opened(Client, { db: 1 });
      const select = () => Promise.allSettled(clients.map((client) => client.select(99)));
      const early = isAfter ? select() : undefined;
      const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 2000 });
      for (const { status } of await (early ?? select())) expect(status).toBe("rejected");
      let count = 0;
      // A Redlock that was there before the refusal learns of it from the client.
      await until("locks are there", async () => {
        const lock = await redlock.acquire(fresh(), ttl);
        await Promise.all(lock.attempts);
        const found = await fleet.values(lock.resources[0]!);
        await Promise.all((await lock.release()).attempts);
        count += 1;
        return found.every((value) => value === lock.value);
      });
      if (isAfter) expect(count).toBe(1);
    });
  });

  describe.each(libraries)("by a Redlock that was created while %s was reconnecting", (_, Client) => {
    it("is in the database that the client had selected before, and in no other meanwhile", async () => {
      const clients = opened(Client, { retryStrategy: () => 10 });
      await Promise.all(clients.map((client) => client.select(1)));
      const connections = clients.map((client) => once(client, "connecting"));
      for (const client of clients) (client as unknown as { stream: Socket }).stream.destroy();
      await Promise.all(connections);
      for (const client of clients) expect(new IoredisDriver(client).database).toBe(1);
      const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 2000 });
      const lock = await redlock.acquire(fresh(), ttl);
      await Promise.all(lock.attempts);
      await Promise.all(clients.map((client) => client.ping()));
      expect(lock.state).toBe("held");
      expect(await valuesElsewhere(lock.resources[0]!)).toEqual([lock.value, lock.value, lock.value]);
      await Promise.all((await lock.release()).attempts);
    });
  });

  it("is in the database that the client selected, while another command blocks the client", async () => {
    const clients = opened(Redis);
    await Promise.all(clients.map((client) => client.select(1)));
    for (const client of clients) client.blpop("nothing", 0).catch(() => {});
    const redlock = new Redlock(clients, { owner: false, retryCount: 0, nodeTimeout: 2000 });
    await locks(redlock, valuesElsewhere);
  });

  it("is asked for by a Redlock that quits meanwhile: no connection is made", async () => {
    const client = new Redis(fleet.masters[0]!.port);
    endAfterTest([client]);
    await client.select(1);
    const duplicate = vi.spyOn(client, "duplicate");
    await new Redlock([client]).quit({ keepClients: true });
    // Behind the question.
    await client.ping();
    await new Promise((resolve) => setImmediate(resolve));
    expect(duplicate).toHaveBeenCalledOnce();
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
  it("acquire: no vote of before counts", async () => {
    const which = [2, 1];
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

  it("a waiter waits in the other database, and what is granted to it in the previous one expires", async () => {
    const { redlock, clients } = await open();
    const rival = (await open()).redlock;
    const third = (await open()).redlock;
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
    expect((await valuesElsewhere(resource)).filter((value) => value === lock.value).length).toBeGreaterThan(
      1,
    );
    await Promise.all((await lock.release()).attempts);
    // The first in the queues is a waiter that has gone.
    await theirs.release();
    const next = await behind;
    expect((await fleet.values(resource)).filter((value) => value === next.value).length).toBeGreaterThan(1);
    await next.release();
  });
});

describe("a server that refuses SELECT", () => {
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
