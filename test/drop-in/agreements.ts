import { createHash } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { fresh } from "../integration/fleet/fleet.ts";
import { type Any, kindOf, type Line, lengthOf, outcome, quick, single, thrown } from "./bench.ts";

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}

/** Lines that come out the same. */
export const agreements: Readonly<Record<string, Line>> = {
  "exports the class as default, and Lock, ExecutionError and ResourceLockedError": async ({ library }) =>
    (["default", "Lock", "ExecutionError", "ResourceLockedError"] as const).map(
      (name) => typeof library[name],
    ),
  "the constructor takes any iterable of clients": async (bench) =>
    bench.redlock({}, new Set(bench.clients())).clients.size,
  "no clients are refused": (bench) => outcome(bench, () => bench.redlock({}, [])),
  "redlock.settings has the defaults": async (bench) => {
    const { driftFactor, retryCount, retryDelay, retryJitter, automaticExtensionThreshold } =
      bench.redlock().settings;
    return { driftFactor, retryCount, retryDelay, retryJitter, automaticExtensionThreshold };
  },
  "redlock.settings has what was passed, and null and undefined are the defaults": async (bench) => {
    const passed = { retryCount: 3, retryDelay: null, driftFactor: undefined };
    const { retryCount, retryDelay, driftFactor } = bench.redlock(passed).settings;
    return [retryCount, retryDelay, driftFactor];
  },
  "redlock.clients is a Set of the clients": async (bench) => {
    const clients = bench.clients();
    const { clients: shown } = bench.redlock({}, clients);
    return [shown instanceof Set, [...shown].every((client, index) => client === clients[index])];
  },
  "redlock.scripts has three scripts with their SHA-1": async (bench) => {
    const { scripts } = bench.redlock();
    const scriptNames = ["acquireScript", "extendScript", "releaseScript"];
    return scriptNames.map((name) => scripts[name].hash === sha1(scripts[name].value));
  },
  "redlock is an EventEmitter, also for node:events": async (bench) => {
    const redlock = bench.redlock();
    const next = once(redlock, "other");
    redlock.emit("other", 5);
    return [redlock instanceof EventEmitter, await next];
  },
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
  "the key is the resource, the value that of the lock, on each master": async (bench) => {
    const resource = fresh();
    const lock = await bench.held(bench.redlock(), resource);
    const values = await bench.fleet.values(resource);
    await lock.release();
    return values.map((value) => value === lock.value);
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
  "a locked resource is an ExecutionError after retryCount retries, 10 by default": async (bench) => {
    const resource = await bench.occupied();
    const error = await thrown(() => bench.redlock(quick).acquire([resource], 5000));
    return [error instanceof bench.library.ExecutionError, error.attempts.length];
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
  "a failed call leaves nothing behind": async (bench) => {
    const resource = await bench.occupied(2);
    await thrown(() => bench.redlock(single).acquire([resource], 5000));
    await bench.fleet.untilGone(resource, bench.fleet.masters.slice(2));
    return bench.copies(resource);
  },
  "retryCount -1 and Infinity wait until the resource is free": async (bench) => {
    const waited: number[] = [];
    for (const retryCount of [-1, Number.POSITIVE_INFINITY]) {
      const resource = await bench.occupied();
      const waiting = bench.redlock({ ...quick, retryCount }).acquire([resource], 5000);
      await bench.fleet.free(resource);
      waited.push((await waiting).resources.length);
    }
    return waited;
  },
  "settings of a call override those of the constructor": async (bench) => {
    const redlock = bench.redlock({ ...quick, retryCount: 7 });
    const error = await thrown(async () =>
      redlock.acquire([await bench.occupied()], 5000, { retryCount: 2 }),
    );
    return error.attempts.length;
  },
  "null is taken for the settings of a call": async (bench) => {
    const redlock = bench.redlock();
    const lock = await redlock.acquire([fresh()], 5000, null);
    await redlock.release(await redlock.extend(lock, 5000, null), null);
    return redlock.using([fresh()], 5000, null, async () => "ran");
  },
  "a duration with decimals is refused, by acquire, extend and using": async (bench) => {
    const redlock = bench.redlock();
    const lock = await bench.held(redlock, fresh());
    return [
      await outcome(bench, () => redlock.acquire([fresh()], 1000.5)),
      await outcome(bench, () => lock.extend(1000.5)),
      await outcome(bench, () => redlock.using([fresh()], 1000.5, async () => 1)),
    ];
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
  "a lock that another client took cannot be extended": async (bench) => {
    const resource = fresh();
    const lock = await bench.held(bench.redlock({ ...quick, retryCount: 1 }), resource);
    await bench.fleet.occupy(resource);
    return (await thrown(() => lock.extend(5000))) instanceof bench.library.ExecutionError;
  },
  "an expiration set to 0 ends the lock for extend, and not for release": async (bench) => {
    const resource = fresh();
    const lock = await bench.held(bench.redlock(), resource);
    lock.expiration = 0;
    const error = await thrown(() => lock.extend(5000));
    await Promise.all((await lock.release()).attempts);
    return [error instanceof bench.library.ExecutionError, lock.expiration, await bench.copies(resource)];
  },
  "a Lock that is built by hand is released and extended": async (bench) => {
    const { Lock } = bench.library;
    const redlock = bench.redlock();
    const [first, second] = [await bench.held(redlock, fresh()), await bench.held(redlock, fresh())];
    const again = (lock: Any) => new Lock(redlock, lock.resources, lock.value, [], lock.expiration);
    await Promise.all((await again(first).release()).attempts);
    const extended = await again(second).extend(20_000);
    const [left] = await bench.fleet.lifetimes(second.resources[0]);
    await extended.release();
    return [await bench.copies(first.resources[0]), left! > 15_000];
  },
  "a lock excludes others until it is released": async (bench) => {
    const resource = fresh();
    const lock = await bench.held(bench.redlock(), resource);
    const error = await thrown(() => bench.redlock(single).acquire([resource], 5000));
    await Promise.all((await lock.release()).attempts);
    return [
      error instanceof bench.library.ExecutionError,
      await outcome(bench, () => bench.redlock(single).acquire([resource], 5000)),
    ];
  },
  "using passes on what the routine returns and throws, and releases": async (bench) => {
    const redlock = bench.redlock();
    const resource = fresh();
    const result = await redlock.using([resource], 5000, async (signal: AbortSignal) => [
      signal.aborted,
      "done",
    ]);
    await bench.fleet.untilGone(resource);
    const error = await thrown(() =>
      redlock.using([resource], 5000, async () => {
        throw new RangeError("mine");
      }),
    );
    await bench.fleet.untilGone(resource);
    return [result, error.name, error.message];
  },
  "using extends the lock while the routine runs": async (bench) => {
    const resource = fresh();
    const rival = bench.redlock(single);
    return bench.redlock().using([resource], 700, { automaticExtensionThreshold: 400 }, async () => {
      const end = performance.now() + 1000;
      while (performance.now() < end) await thrown(() => rival.acquire([resource], 700));
      return "kept";
    });
  },
  "signal.error has the reason when the lock is lost": async (bench) => {
    const resource = fresh();
    const redlock = bench.redlock({ ...single, automaticExtensionThreshold: 100 });
    const error = await thrown(() =>
      redlock.using([resource], 500, async (signal: Any) => {
        await bench.fleet.occupy(resource);
        while (!signal.aborted) await bench.fleet.admins[0]!.ping();
        throw signal.error;
      }),
    );
    return error instanceof bench.library.ExecutionError;
  },
  "using needs a routine, and a threshold below the duration": async (bench) => {
    const redlock = bench.redlock();
    return [
      await outcome(bench, () => redlock.using([fresh()], 5000)),
      await outcome(bench, () =>
        redlock.using([fresh()], 5000, { automaticExtensionThreshold: 6000 }, async () => 1),
      ),
    ];
  },
  "a master that is down is outvoted, its vote is an error, and an error event": async (bench) => {
    const clients = bench.clients();
    await clients[2]!.ping();
    clients[2]!.disconnect();
    const redlock = bench.redlock({}, clients);
    const events: unknown[] = [];
    redlock.on("error", (error: unknown) => events.push(error));
    const lock = await redlock.acquire([fresh()], 5000);
    const [{ votesFor, votesAgainst }] = await Promise.all(lock.attempts as Any[]);
    await lock.release();
    return [votesFor.size, votesAgainst.get(clients[2]) instanceof Error, events.length > 0];
  },
  "an error event without a listener throws nothing": async (bench) => {
    const redlock = bench.redlock();
    redlock.emit("error", new Error("oops"));
    return "nothing";
  },
  "quit quits the clients": async (bench) => {
    const clients = bench.clients();
    const redlock = bench.redlock({}, clients);
    await (await bench.held(redlock, fresh())).release();
    const ended = clients.map((client) => once(client, "end"));
    await redlock.quit();
    return (await Promise.all(ended)).length;
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
