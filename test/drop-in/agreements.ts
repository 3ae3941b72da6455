import { fresh } from "../integration/fleet/fleet.ts";
import { type Any, kindOf, type Line, lengthOf, quick, single, thrown } from "./bench.ts";

/** Lines that come out the same. */
export const agreements: Readonly<Record<string, Line>> = {
  "exports the class as default, and Lock, ExecutionError and ResourceLockedError": async ({ library }) =>
    (["default", "Lock", "ExecutionError", "ResourceLockedError"] as const).map(
      (name) => typeof library[name],
    ),
  "it can be extended": async (bench) => {
    class Mine extends bench.library.default {
      name = "mine";
    }
    const mine = new (Mine as Any)(bench.clients());
    const lock = await mine.acquire([fresh()], 5000);
    await lock.release();
    return [mine.name, lock.redlock === mine, mine instanceof bench.library.default];
  },
  "a lock is a Lock, with its Redlock and its resources": async (bench) => {
    const redlock = bench.redlock();
    const lock = await bench.held(redlock, ["a", "b"]);
    await lock.release();
    return [lock instanceof bench.library.Lock, lock.redlock === redlock, lock.resources];
  },
  "the expiration is the duration from now, less the drift": async (bench) => {
    const before = Date.now();
    const { expiration } = await bench.held(bench.redlock(), fresh(), 100_000);
    // 1 % of drift, 2 ms, and what the call took.
    return expiration > before + 98_900 && expiration <= Date.now() + 99_000;
  },
  "attempts of a lock are promises of statistics": async (bench) => {
    const lock = await bench.redlock().acquire([fresh()], 5000);
    const [{ membershipSize, quorumSize, votesFor, votesAgainst }, ...more] = await Promise.all(
      lock.attempts,
    );
    await lock.release();
    return [membershipSize, quorumSize, votesFor.size, votesAgainst.size, more.length];
  },
  "votes are by client, a refusal is a ResourceLockedError": async (bench) => {
    const clients = bench.clients();
    const redlock = bench.redlock(single, clients);
    const lock = await redlock.acquire([await bench.occupied(1)], 5000);
    const [{ votesFor, votesAgainst }] = await Promise.all(lock.attempts as Any[]);
    await lock.release();
    return [
      clients.map((client) => votesFor.has(client)),
      [...votesAgainst].map(([client, error]) => [clients.indexOf(client), kindOf(bench, error)]),
    ];
  },
  "attempts.length is the number of attempts": async (bench) => [
    await lengthOf(bench, await bench.occupied(), single),
    await lengthOf(bench, await bench.occupied(), { retryCount: 1 }),
    await lengthOf(bench, await bench.occupied(), { retryCount: 4 }),
    await lengthOf(bench, await bench.occupied(), { retryCount: 10, queue: false }),
    await lengthOf(bench, await bench.occupied(2), { retryCount: 10 }),
  ],
  "each attempt of a failed call has the votes": async (bench) => {
    const resource = await bench.occupied();
    const error = await thrown(() => bench.redlock({ ...quick, retryCount: 3 }).acquire([resource], 5000));
    const all = await Promise.all(error.attempts as Any[]);
    return all.map(({ membershipSize, votesFor, votesAgainst }) => [
      membershipSize,
      votesFor.size,
      votesAgainst.size,
    ]);
  },
  "null is taken for the settings of a call": async (bench) => {
    const redlock = bench.redlock();
    const lock = await redlock.acquire([fresh()], 5000, null);
    await redlock.release(await redlock.extend(lock, 5000, null), null);
    return redlock.using([fresh()], 5000, null, async () => "ran");
  },
  "extend into the same variable": async (bench) => {
    const redlock = bench.redlock();
    const resource = fresh();
    let lock = await bench.held(redlock, resource, 5000);
    const { value } = lock;
    lock = await lock.extend(50_000);
    const stats = await Promise.all(lock.attempts as Any[]);
    const [left] = await bench.fleet.lifetimes(resource);
    await lock.release();
    return [
      lock.value === value,
      lock instanceof bench.library.Lock,
      stats.length,
      stats[0].votesFor.size,
      left! > 45_000,
    ];
  },
  "redlock.extend and redlock.release do the same": async (bench) => {
    const redlock = bench.redlock();
    const resource = fresh();
    const lock = await redlock.extend(await bench.held(redlock, resource, 5000), 50_000, { retryCount: 1 });
    const { attempts } = await redlock.release(lock, { retryCount: 1 });
    const stats = await Promise.all(attempts as Any[]);
    return [stats.length, stats[0].votesFor.size, await bench.copies(resource), lock.expiration];
  },
  "a released lock cannot be extended: an ExecutionError without attempts": async (bench) => {
    const lock = await bench.held(bench.redlock(), fresh());
    await lock.release();
    const error = await thrown(() => lock.extend(5000));
    return [error instanceof bench.library.ExecutionError, error.attempts];
  },
  "an expiration set to 0 ends the lock for extend, and not for release": async (bench) => {
    const resource = fresh();
    const lock = await bench.held(bench.redlock(), resource);
    lock.expiration = 0;
    const error = await thrown(() => lock.extend(5000));
    await Promise.all((await lock.release()).attempts);
    return [error instanceof bench.library.ExecutionError, lock.expiration, await bench.copies(resource)];
  },
  "using, lock.extend and lock.release call the methods of a subclass": async (bench) => {
    const calls: string[] = [];
    const redlock = bench.redlock();
    for (const name of ["acquire", "extend", "release"]) {
      const inherited = redlock[name].bind(redlock);
      redlock[name] = (...args: unknown[]) => {
        calls.push(name);
        return inherited(...args);
      };
    }
    await redlock.using([fresh()], 5000, async () => 1);
    await (await (await redlock.acquire([fresh()], 5000)).extend(5000)).release();
    return calls;
  },
  "settings are spread into those of another Redlock, and clients come from a generator": async (bench) => {
    const settings = { ...bench.redlock({ retryDelay: 7 }).settings, retryCount: 4 };
    const clients = bench.clients();
    const redlock = bench.redlock(settings, clients.values());
    return [redlock.settings.retryDelay, redlock.settings.retryCount, redlock.clients.size];
  },
};
