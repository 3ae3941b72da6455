import Bluebird from "bluebird";
import { expect } from "vitest";
import { fresh } from "../integration/fleet/fleet.ts";
import { type Any, thrown } from "./bench.ts";
import { type Bench4, outcome, ways } from "./bench-4.ts";

/** Passes if it does not throw. */
export type Case = (bench: Bench4) => Promise<void>;

const { callbacks, promises } = ways;

function expectNew(bench: Bench4, lock: Any, attempts: unknown = 1): void {
  expect(lock).toBeInstanceOf(bench.library.Lock);
  expect(lock.expiration).toBeGreaterThan(Date.now() - 1);
  expect(lock.attempts).toEqual(attempts);
}

function expectRefused(bench: Bench4, error: Any, attempts: number | undefined): void {
  expect(error).toBeInstanceOf(bench.library.LockError);
  expect([error.name, error.attempts]).toEqual(["LockError", attempts]);
}

/** Until the lock has expired by its own account and, with the drift, on the servers. */
function expired(lock: Any): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, lock.expiration - Date.now() + 100));
}

/** A key of a set, where no lock can be. */
export async function spoiled({ fleet }: Bench4): Promise<string> {
  const resource = fresh();
  for (const admin of fleet.admins) await admin.sadd(resource, "no lock");
  return resource;
}

/** The cases of one way of calling, for one resource or several. */
function casesOf(
  call: (typeof ways)[keyof typeof ways],
  named: () => string | string[],
): Record<string, Case> {
  const lock = (redlock: Any, resource: unknown, ttl = 5000): Promise<Any> =>
    call((done) => redlock.lock(resource, ttl, done));
  return {
    "locks a resource": async (bench) => {
      expectNew(bench, await lock(bench.redlock(), named()));
    },
    "waits until a lock has expired before it gives another": async (bench) => {
      const [redlock, resource] = [bench.redlock({ retryCount: 100 }), named()];
      const one = await lock(redlock, resource, 1000);
      const two = await lock(redlock, resource);
      expectNew(bench, two, expect.any(Number));
      expect(two.attempts).toBeGreaterThan(1);
      expect(Date.now() + 1).toBeGreaterThan(one.expiration);
    },
    "unlocks a resource, and the lock ends at the call": async (bench) => {
      const held = await lock(bench.redlock(), named());
      const unlocking = call((done) => held.unlock(done));
      expect(held.expiration).toBe(0);
      expect(await unlocking).toBeUndefined();
    },
    "refuses to unlock what is unlocked": async (bench) => {
      const held = await lock(bench.redlock(), named());
      await call((done) => held.unlock(done));
      expectRefused(bench, await thrown(() => call((done) => held.unlock(done))), undefined);
    },
    "refuses to unlock what is not locked by it": async (bench) => {
      const held = await lock(bench.redlock(), named());
      const other = Object.assign(Object.create(held), { resource: await spoiled(bench) });
      expectRefused(bench, await thrown(() => call((done) => other.unlock(done))), undefined);
    },
    "refuses to extend what is unlocked": async (bench) => {
      const held = await lock(bench.redlock(), named());
      await call((done) => held.unlock(done));
      expectRefused(bench, await thrown(() => call((done) => held.extend(200, done))), 0);
    },
    "locks at once what was unlocked": async (bench) => {
      const [redlock, resource] = [bench.redlock(), named()];
      const held = await lock(redlock, resource);
      const { expiration } = held;
      await call((done) => held.unlock(done));
      expectNew(bench, await lock(redlock, resource));
      expect(Date.now() - 1).toBeLessThan(expiration);
    },
    "extends a lock, which stays the same object": async (bench) => {
      const held = await lock(bench.redlock(), named());
      const { expiration } = held;
      const extended = await call((done) => held.extend(8000, done));
      expect(extended).toBe(held);
      expectNew(bench, extended);
      expect(extended.expiration).toBeGreaterThan(expiration);
    },
    "gives up after the retries": async (bench) => {
      const [redlock, resource] = [bench.redlock(), named()];
      await lock(redlock, resource, 10_000);
      expectRefused(bench, await thrown(() => lock(redlock, resource)), 3);
    },
    "refuses to extend what has expired": async (bench) => {
      const held = await lock(bench.redlock(), named(), 600);
      await expired(held);
      expectRefused(bench, await thrown(() => call((done) => held.extend(800, done))), 0);
    },
    "locks at once what has expired": async (bench) => {
      const [redlock, resource] = [bench.redlock(), named()];
      await expired(await lock(redlock, resource, 600));
      expectNew(bench, await lock(redlock, resource));
    },
  };
}

function using(disposer: Any, routine: (lock: Any) => unknown): Promise<unknown> {
  return Promise.resolve(Bluebird.using(disposer, routine as never));
}

/** The cases of `Promise.using`. */
function disposerCases(named: () => string | string[]): Record<string, Case> {
  return {
    "unlocks behind the block": async (bench) => {
      let held: Any;
      await using(bench.redlock().disposer(named(), 5000), (lock) => {
        expectNew(bench, lock);
        held = lock;
      });
      expect(held.expiration).toBe(0);
    },
    "locks at once behind another block": async (bench) => {
      const [redlock, resource] = [bench.redlock(), named()];
      await using(redlock.disposer(resource, 5000), () => {});
      await using(redlock.disposer(resource, 5000), (lock) => expectNew(bench, lock));
    },
    "calls its handler if it cannot unlock, and swallows the error without one": async (bench) => {
      const redlock = bench.redlock();
      const [errors, resource] = [[] as Any[], named()];
      const elsewhere = await spoiled(bench);
      let held: Any;
      await using(
        redlock.disposer(resource, 5000, (error: unknown) => errors.push(error)),
        (lock) => {
          held = Object.assign(lock, { resource: elsewhere });
        },
      );
      expect(errors).toHaveLength(1);
      expectRefused(bench, errors[0], undefined);
      held.resource = resource;
      await held.unlock();
      await using(
        redlock.disposer(resource, 5000),
        (lock) => void Object.assign(lock, { resource: elsewhere }),
      );
    },
    "unlocks a lock that was extended": async (bench) => {
      let held: Any;
      await using(bench.redlock().disposer(named(), 3000), async (lock) => {
        const { expiration } = lock;
        held = await lock.extend(5000);
        expect(held).toBe(lock);
        expect(held.expiration).toBeGreaterThan(expiration);
        expectNew(bench, held);
      });
      expect(held.expiration).toBe(0);
    },
  };
}

const one = (): string => fresh();
const two = (): string[] => [fresh(), fresh()];

function titled(title: string, cases: Readonly<Record<string, Case>>): Record<string, Case> {
  return Object.fromEntries(Object.entries(cases).map(([name, run]) => [`${title}: ${name}`, run]));
}

const { "locks at once what has expired": _, ...byPromise } = casesOf(promises, one);
const { "locks at once what has expired": __, ...severalByPromise } = casesOf(promises, two);

/** The cases of redlock 4.2.0's own tests, but for the three in `differences-4.ts`. */
export const ofRedlock4: Readonly<Record<string, Case>> = {
  "a Redlock needs a client": async (bench) => {
    expect(await thrown(() => bench.redlock({}, []))).toBeInstanceOf(Error);
  },
  ...titled("callbacks", casesOf(callbacks, one)),
  "lockWithOptions: counts the attempts that remain": async (bench) => {
    const options = { retryCount: 10, retryDelay: 1 };
    const lock = await callbacks((done) => bench.redlock().lockWithOptions(fresh(), 5000, options, done));
    expectNew(bench, lock);
    expect(lock.attemptsRemaining).toBe(9);
    expect(await callbacks((done) => lock.unlock(done))).toBeUndefined();
  },
  ...titled("promises", byPromise),
  ...titled("disposer", disposerCases(one)),
  ...titled("callbacks, several resources", casesOf(callbacks, two)),
  ...titled("promises, several resources", severalByPromise),
  ...titled("disposer, several resources", disposerCases(two)),
  "quit ends the clients, and resolves to a list": async (bench) => {
    const clients = bench.clients();
    const redlock = bench.redlock({}, clients);
    await (await redlock.lock(fresh(), 5000)).unlock();
    expect(await promises(() => redlock.quit())).toEqual(clients.map(() => "OK"));
  },
};

/** More that its users rely on. */
export const ofUsers: Readonly<Record<string, Case>> = {
  "acquire, acquireWithOptions and release are lock, lockWithOptions and unlock": async (bench) => {
    const redlock = bench.redlock();
    const one = await callbacks((done) => redlock.acquire(fresh(), 5000, done));
    const two = await redlock.acquireWithOptions(fresh(), 5000, {});
    expectNew(bench, one);
    await callbacks((done) => redlock.release(one, done));
    await redlock.release(two);
    expect([one.expiration, two.expiration]).toEqual([0, 0]);
  },
  "lockWithOptions takes a callback in the place of the options": async (bench) => {
    expectNew(bench, await callbacks((done) => bench.redlock().lockWithOptions(fresh(), 5000, done)));
  },
  "a lock has the list of its resources, and its value is in each key": async (bench) => {
    const resource = fresh();
    const lock = await bench.held(resource);
    expect([lock.resource, lock.redlock.constructor]).toEqual([[resource], bench.library]);
  },
  "a Redlock shows its servers and its settings, and what is changed there counts": async (bench) => {
    const redlock = bench.redlock({ retryCount: 1 });
    expect(redlock.servers).toEqual(bench.shared);
    const { driftFactor, retryCount, retryDelay, retryJitter } = new bench.library(bench.shared);
    expect([driftFactor, retryCount, retryDelay, retryJitter]).toEqual([0.01, 10, 200, 100]);
    redlock.retryCount = 3;
    expectRefused(bench, await thrown(async () => redlock.lock(await bench.occupied(), 5000)), 4);
  },
  "a retryCount of 0 is one attempt for the constructor, and none given for a call": async (bench) => {
    const resource = await bench.occupied();
    const never = bench.redlock({ retryCount: 0 });
    expectRefused(bench, await thrown(() => never.lock(resource, 5000)), 1);
    const thrice = bench.redlock().lockWithOptions(resource, 5000, { retryCount: 0 });
    expectRefused(bench, await thrown(() => thrice), 3);
  },
  "a retryCount of -1 has no end": async (bench) => {
    const redlock = bench.redlock({ retryCount: -1, retryDelay: 3, retryJitter: 2 });
    const lock = await redlock.lock(await bench.occupied(400), 5000);
    expectNew(bench, lock, expect.any(Number));
    expect(lock.attemptsRemaining).toBe(-1 - lock.attempts);
  },
  "whoever waits leaves nothing on the servers": async (bench) => {
    const resource = await bench.occupied(400);
    const admin = bench.fleet.admin(bench.masters[0]!);
    const seen = new Set<string>();
    const call = { isWaiting: true };
    const locking = Promise.resolve(bench.redlock({ retryCount: -1 }).lock(resource, 5000)).then(() => {
      call.isWaiting = false;
    });
    while (call.isWaiting)
      for (const key of await admin.keys("*"))
        if (key === resource || key.includes(`{${resource}}`)) seen.add(key);
    await locking;
    expect([...seen]).toEqual([resource]);
  },
  "more attempts than a client remembers are counted": async (bench) => {
    const redlock = bench.redlock({ retryCount: 50, retryDelay: 1, retryJitter: 0 });
    expectRefused(bench, await thrown(async () => redlock.lock(await bench.occupied(), 5000)), 51);
  },
  "pauses have the length of the settings": async (bench) => {
    const redlock = bench.redlock({ retryCount: 3, retryDelay: 100, retryJitter: 0 });
    const resource = await bench.occupied();
    const begun = performance.now();
    await thrown(() => redlock.lock(resource, 5000));
    expect(performance.now() - begun).toBeGreaterThan(297);
  },
  "the messages that programs compare": async (bench) => {
    const [redlock, resource] = [bench.redlock({ retryCount: 1 }), fresh()];
    const lock = await redlock.lock([resource, `${resource}-2`], 5000);
    const refused = await thrown(() => redlock.lock(resource, 5000));
    await lock.unlock();
    const errors = [refused, await thrown(() => lock.unlock()), await thrown(() => lock.extend(5000))];
    expect(errors.map(({ message }) => message)).toEqual([
      `Exceeded 1 attempts to lock the resource "${resource}".`,
      `Unable to fully release the lock on resource "${resource},${resource}-2".`,
      `Cannot extend lock on resource "${resource},${resource}-2" because the lock has already expired.`,
    ]);
  },
  "a lock of a few milliseconds": async (bench) => {
    // (It may have expired when a busy process reads it.)
    const lock = await bench.redlock({ retryCount: 100 }).lock(fresh(), 20);
    expect(lock).toBeInstanceOf(bench.library.Lock);
  },
  "a lock that was lost is not unlocked": async (bench) => {
    const lock = await bench.forgotten();
    expectRefused(bench, await thrown(() => lock.unlock()), undefined);
  },
  "a lock of another process, as plain values, is extended and unlocked": async (bench) => {
    const resource = fresh();
    const { value, expiration } = await bench.redlock().lock(resource, 5000);
    const [plain, redlock] = [{ resource, value, expiration } as Any, bench.redlock()];
    expect(await redlock.extend(plain, 8000)).toBe(plain);
    expect(plain.expiration).toBeGreaterThan(expiration);
    await redlock.unlock(plain);
    expect(await outcome(() => redlock.unlock({ resource, value }))).toBe("LockError");
    expect(await outcome(() => redlock.extend({ resource: fresh(), value }, 5000))).toBe("LockError");
  },
  "a lock that is made by hand": async (bench) => {
    const redlock = bench.redlock();
    const resource = fresh();
    const { value, expiration } = await redlock.lock(resource, 5000);
    const lock = new bench.library.Lock(redlock, resource, value, expiration, 1);
    expect([lock.resource, lock.value, lock.attempts]).toEqual([resource, value, 1]);
    expect(await lock.extend(8000)).toBe(lock);
    await lock.unlock();
    expect([lock.expiration, await bench.copies(resource)]).toEqual([0, 0]);
  },
  "another Redlock of the same servers unlocks": async (bench) => {
    const resource = fresh();
    const lock = await bench.redlock().lock(resource, 5000);
    await bench.redlock().unlock(lock);
    expect([lock.expiration, await bench.copies(resource)]).toEqual([0, 0]);
  },
  "an error that is made by hand": async ({ library: { LockError } }) => {
    const [bare, full] = [new LockError(), new LockError("gone", 4)];
    expect([bare.attempts, bare.message, full.attempts, full.message]).toEqual([
      undefined,
      "Failed to lock the resource.",
      4,
      "gone",
    ]);
    expect(full).toBeInstanceOf(Error);
    expect(String(full)).toBe("LockError: gone");
  },
  "clientError events, of which none is needed to listen": async (bench) => {
    const down = bench.clients([{ host: "127.0.0.1", port: 1 }]);
    const redlock = bench.redlock({ retryCount: 0 }, down);
    expectRefused(bench, await thrown(() => redlock.lock(fresh(), 500)), 1);
    const events: unknown[] = [];
    expect(redlock.on("clientError", (error: unknown) => events.push(error))).toBe(redlock);
    await thrown(() => redlock.lock(fresh(), 500));
    expect(events.length).toBeGreaterThan(0);
    expect(events[0]).toBeInstanceOf(Error);
  },
};
