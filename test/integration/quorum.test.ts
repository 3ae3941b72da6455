import { ExecutionError, Lock, LockLostError, RedlockError, ResourceLockedError } from "@quorlock/redlock";
import { leaveScript } from "@quorlock/redlock/internal";
import { type Master, startProxy } from "@quorlock/testbed";
import { describe, expect, it } from "vitest";
import { until } from "../contract/until.ts";
import { Fleet, fresh, type Opened, type OpenOptions, rejection, votesOf } from "./fleet/fleet.ts";
import { hasEnded } from "./fleet/library.ts";

// PROTOCOL 5.10.

const fleet = Fleet.forTests(5);

const ttl = 20_000;

describe.each([1, 2, 3, 5])("%i masters", (count) => {
  const quorum = Math.floor(count / 2) + 1;
  const masters = () => fleet.masters.slice(0, count);
  /** As many as leave no quorum. */
  const majority = () => fleet.masters.slice(0, count - quorum + 1);
  const open = (options: OpenOptions = {}): Opened => fleet.open({ on: masters(), ...options });

  it("acquire sets the key everywhere, and release takes it away everywhere", async () => {
    const { redlock, clients, errors } = open();
    const resource = fresh();
    const since = performance.now();
    const lock = await redlock.acquire([resource], ttl);
    expect(lock).toBeInstanceOf(Lock);
    expect(lock.resources).toEqual([resource]);
    expect(lock.value).toMatch(/^[0-9a-f]{32}\.1$/);
    expect(lock.state).toBe("held");
    const [remaining, expiresIn] = [lock.remaining(), lock.expiration - Date.now()];
    // At least what is left of the ttl, minus drift; the two clocks are read one after the other.
    const least = () => ttl * 0.98 - (performance.now() - since);
    expect(remaining).toBeGreaterThan(least());
    expect(remaining).toBeLessThanOrEqual(ttl * 0.99);
    expect(expiresIn).toBeGreaterThan(least());
    expect(expiresIn).toBeLessThan(remaining + 50);
    const [stats] = await Promise.all(lock.attempts);
    expect(stats).toMatchObject({ membershipSize: count, quorumSize: quorum });
    expect(votesOf(clients, stats!)).toEqual(clients.map(() => true));
    expect(stats!.votesAgainst.size).toBe(0);
    expect(await fleet.values(resource, masters())).toEqual(masters().map(() => lock.value));
    for (const left of await fleet.lifetimes(resource, masters())) expect(left).toBeGreaterThan(least());

    const released = await lock.release();
    expect(released.outcome).toBe("released");
    expect((await Promise.all(released.attempts))[0]!.votesFor.size).toBe(count);
    expect(await fleet.values(resource, masters())).toEqual(masters().map(() => null));
    expect(lock).toMatchObject({ state: "released", expiration: 0 });
    expect(lock.remaining()).toBe(0);
    expect(lock.signal.aborted).toBe(false);
    expect((await lock.release()).outcome).toBe("released");
    expect(errors).toEqual([]);
  });

  it("a second one is refused with the owner, the remaining time and the votes, without an error event", async () => {
    const resource = fresh();
    const since = performance.now();
    const holder = await open().redlock.acquire(resource, ttl);
    await Promise.all(holder.attempts);
    // In the pause the last masters answer as well: a vote that is late is abandoned when the next attempt begins.
    const slow = { queue: false, retryCount: 2, retryDelay: 250, retryJitter: 0 };
    const { redlock, clients, errors } = await fleet.openWarm({ on: masters(), ...slow });
    const error = await rejection(redlock.acquire(resource, ttl));
    expect(error).toBeInstanceOf(ResourceLockedError);
    expect(error).toBeInstanceOf(ExecutionError);
    expect(error).toBeInstanceOf(RedlockError);
    const locked = error as ResourceLockedError;
    expect(locked).toMatchObject({ code: "RESOURCE_LOCKED", resource });
    expect(locked.message).toContain(`"${resource}"`);
    expect(locked.message).toContain("RESOURCE_LOCKED");
    expect(locked.remaining).toBeGreaterThan(ttl * 0.99 - (performance.now() - since));
    expect(locked.remaining).toBeLessThanOrEqual(ttl);
    const attempts = await Promise.all(locked.attempts);
    expect(attempts).toHaveLength(3);
    for (const { votesFor, votesAgainst } of attempts) {
      expect(votesFor.size).toBe(0);
      expect([...votesAgainst.keys()]).toEqual(expect.arrayContaining([...clients]));
      for (const vote of votesAgainst.values()) expect(vote).toBeInstanceOf(ResourceLockedError);
    }
    expect(errors).toEqual([]);
    expect(await fleet.values(resource, masters())).toEqual(masters().map(() => holder.value));
    await holder.release();
  });

  it("locks several resources, all or none", async () => {
    const { redlock } = open();
    const [a, b, c] = [fresh(), fresh(), fresh()];
    const lock = await redlock.acquire([a, b], ttl);
    expect(lock.resources).toEqual([a, b]);
    await Promise.all(lock.attempts);
    for (const resource of [a, b]) {
      expect(await fleet.values(resource, masters())).toEqual(masters().map(() => lock.value));
    }
    expect(await redlock.tryAcquire([b, c], ttl)).toBeNull();
    expect(await redlock.tryAcquire([c, a], ttl)).toBeNull();
    await fleet.untilGone(c);
    expect(await redlock.tryAcquire(c, ttl)).not.toBeNull();
    expect((await lock.release()).outcome).toBe("released");
    await fleet.untilGone(a);
    await fleet.untilGone(b);
    const next = await redlock.tryAcquire([b, a], ttl);
    expect(next).not.toBeNull();
  });

  it("extend prolongs in place, and a shorter one shortens nothing", async () => {
    const { redlock } = open();
    const resource = fresh();
    const lock = await redlock.acquire(resource, 2000);
    expect(await lock.extend(ttl)).toBe(lock);
    expect(lock.remaining()).toBeGreaterThan(ttl * 0.9);
    const [stats] = await Promise.all(lock.attempts);
    expect(stats!.votesFor.size).toBe(count);
    for (const left of await fleet.lifetimes(resource, masters())) expect(left).toBeGreaterThan(ttl * 0.9);
    expect(await redlock.extend(lock, 1000)).toBe(lock);
    await Promise.all(lock.attempts);
    expect(lock.remaining()).toBeGreaterThan(ttl * 0.9);
    for (const left of await fleet.lifetimes(resource, masters())) expect(left).toBeGreaterThan(ttl * 0.9);
    await lock.release();
    expect(await rejection(lock.extend(ttl))).toBeInstanceOf(LockLostError);
    await fleet.untilGone(resource, masters());
  });

  it("a lock that a majority gave to another client is lost: state, signal and event show it", async () => {
    const { redlock } = open();
    const lost: Lock[] = [];
    redlock.on("lost", (lock) => lost.push(lock));
    const resource = fresh();
    const lock = await redlock.acquire(resource, ttl);
    await Promise.all(lock.attempts);
    const { signal } = lock;
    await fleet.occupy(resource, majority(), ttl);
    const error = await rejection(lock.extend(ttl));
    expect(error).toBeInstanceOf(LockLostError);
    expect(error).toMatchObject({ code: "LOCK_LOST", resources: [resource] });
    expect(lock).toMatchObject({ state: "lost", expiration: 0 });
    expect(lock.remaining()).toBe(0);
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(lost).toEqual([lock]);
    expect(await lock.verify()).toBe(false);
    expect((await lock.release()).outcome).toBe("expired");
    const theirs = await fleet.values(resource, majority());
    expect(theirs).toEqual(majority().map(() => "another client"));
    await fleet.free(resource);
  });

  it("quit releases, ends what waits, and quits the clients", async () => {
    const { redlock, clients } = open();
    const [held, foreign] = [fresh(), fresh()];
    await fleet.occupy(foreign, masters());
    const lock = await redlock.acquire(held, ttl);
    const { signal } = lock;
    const waiting = rejection(redlock.acquire(foreign, ttl, { retryCount: -1 }));
    const quitting = redlock.quit();
    expect(redlock.quit()).toBe(quitting);
    expect(await waiting).toMatchObject({ name: "ClosedError", code: "CLOSED" });
    await quitting;
    expect(signal.aborted).toBe(true);
    await fleet.untilGone(held, masters());
    await until("the clients have ended", () => clients.every(hasEnded));
    expect(await rejection(redlock.acquire(held, ttl))).toMatchObject({ code: "CLOSED" });
    expect(await rejection(redlock.tryAcquire(held, ttl))).toMatchObject({ code: "CLOSED" });
    await fleet.free(foreign);
  });

  it("excludes workers of several clients from each other, and lets all of them through", async () => {
    const resource = fresh();
    const redlocks = [0, 1, 2].map(() => open({ retryCount: -1, retryDelay: 10, retryJitter: 8 }).redlock);
    let inside = 0;
    let overlaps = 0;
    let passed = 0;
    const worker = async (index: number): Promise<void> => {
      for (let round = 0; round < 5; round += 1) {
        await redlocks[index % 3]!.using([resource], 5000, async () => {
          inside += 1;
          if (inside > 1) overlaps += 1;
          await fleet.admins[0]!.ping();
          inside -= 1;
          passed += 1;
        });
      }
    };
    await Promise.all(Array.from({ length: 6 }, (_, index) => worker(index)));
    expect({ overlaps, passed }).toEqual({ overlaps: 0, passed: 30 });
    await fleet.untilGone(resource);
  });
});

it("a lock of 9,000 resources is extended and given up whole", async () => {
  const { redlock } = fleet.open({ on: fleet.masters.slice(0, 1), nodeTimeout: 20_000 });
  const resources = Array.from({ length: 9000 }, () => fresh());
  const lock = await redlock.acquire(resources, 60_000);
  await lock.extend(60_000);
  expect((await lock.release()).outcome).toBe("released");
  for (const resource of [resources[0]!, resources.at(-1)!]) {
    expect(await fleet.values(resource)).toEqual([null, null, null, null, null]);
  }
});

describe("a master that does not know the scripts, and answers when the attempt is over", () => {
  it.each([1, 2])("is no error event, with %i resources", async (count) => {
    const [first, second, third] = fleet.masters as [Master, Master, Master];
    await using proxy = await startProxy(third);
    const { redlock, clients, errors } = fleet.open({ on: [first, second, proxy], nodeTimeout: 5000 });
    await redlock.acquire(fresh(), ttl);
    const resources = Array.from({ length: count }, () => fresh());
    await fleet.occupy(resources[0]!);
    await fleet.teachScripts();
    await fleet.admin(third).script("FLUSH");
    proxy.hold("replies");
    const rolledBack = proxy.nextRequest((bytes) => bytes.includes(leaveScript.sha1));
    const refused = rejection(redlock.acquire(resources, ttl, { retryCount: 0 }));
    await rolledBack;
    proxy.release("replies");
    const error = (await refused) as ExecutionError;
    expect(error).toBeInstanceOf(ResourceLockedError);
    const [stats] = await Promise.all(error.attempts);
    expect(stats!.votesAgainst.size).toBe(clients.length);
    expect(errors).toEqual([]);
    await fleet.free(resources[0]!);
  });
});

describe("a first connection that stands when the lock is over", () => {
  it("is no error event", async () => {
    const [first, second, third] = fleet.masters as [Master, Master, Master];
    await using proxy = await startProxy(third);
    proxy.hold("requests");
    const { redlock, errors } = fleet.open({ on: [first, second, proxy], nodeTimeout: 5000 });
    const lock = await redlock.acquire(fresh(), ttl);
    const { attempts } = await lock.release();
    proxy.release("requests");
    await Promise.all([...lock.attempts, ...attempts]);
    expect(errors).toEqual([]);
  });
});
