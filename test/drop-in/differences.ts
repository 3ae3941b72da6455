import { Redis } from "ioredis";
import { fresh } from "../integration/fleet/fleet.ts";
import { type Any, type Difference, kindOf, lengthOf, outcome, quick, single, thrown } from "./bench.ts";

/** Lines that come out differently: each is a line of the table in `docs/redlock-5.md`. */
export const differences: Readonly<Record<string, Difference>> = {
  "the error of a locked resource": {
    line: async (bench) => {
      const error = await thrown(async () => bench.redlock(single).acquire([await bench.occupied()], 5000));
      return [error.name, error instanceof bench.library.ExecutionError];
    },
    theirs: ["ExecutionError", true],
    ours: ["ResourceLockedError", true],
  },
  messages: {
    line: async (bench) => {
      const down = [new Redis(1, { lazyConnect: true, retryStrategy: null })];
      down[0]!.on("error", () => {});
      const error = await thrown(() => bench.redlock(single, down).acquire([fresh()], 5000));
      down[0]!.disconnect();
      return error.message.replace(/:.*\[/, " [");
    },
    theirs: "The operation was unable to achieve a quorum during its retry window.",
    ours: "No quorum [NO_QUORUM]",
  },
  "`new ResourceLockedError(text)`": {
    line: async ({ library }) => new library.ResourceLockedError("a").message,
    theirs: "a",
    ours: '"a" is locked by someone else, without expiry [RESOURCE_LOCKED]',
  },
  "`error` events": {
    line: async (bench) => {
      const redlock = bench.redlock(single);
      const events: unknown[] = [];
      redlock.on("error", (error: unknown) => events.push(error));
      await thrown(async () => redlock.acquire([await bench.occupied()], 5000));
      return events.some((event) => event instanceof bench.library.ResourceLockedError);
    },
    theirs: true,
    ours: false,
  },
  '`listenerCount("error")` of a new Redlock': {
    line: async (bench) => bench.redlock().listenerCount("error"),
    theirs: 1,
    ours: 0,
  },
  "the error of a failed master in `votesAgainst`": {
    line: async (bench) => {
      const clients = bench.clients();
      await clients[0]!.ping();
      clients[0]!.disconnect();
      const lock = await bench.held(bench.redlock(single, clients), fresh());
      const [{ votesAgainst }] = await Promise.all(lock.attempts as Any[]);
      await lock.release();
      return votesAgainst.get(clients[0]).message.replace(/^\S+:\d+: (\w+): .*/, "$1");
    },
    theirs: "Connection is closed.",
    ours: "UNREACHABLE",
  },
  "releasing a lock that has expired": {
    line: async (bench) => {
      const resource = fresh();
      const lock = await bench.held(bench.redlock({ ...quick, retryCount: 1 }), resource);
      await bench.fleet.free(resource);
      return lock.release().then(
        (result: Any) => result.outcome,
        (error: unknown) => kindOf(bench, error),
      );
    },
    theirs: "ExecutionError",
    ours: "expired",
  },
  "releasing a lock twice": {
    line: async (bench) => {
      const lock = await bench.held(bench.redlock({ ...quick, retryCount: 1 }), fresh());
      await lock.release();
      return outcome(bench, () => lock.release());
    },
    theirs: "ExecutionError",
    ours: "works",
  },
  "what `release` resolves to": {
    line: async (bench) => {
      const result = await (await bench.held(bench.redlock(), fresh())).release();
      return ["attempts", "outcome", "start"].filter((name) => name in result);
    },
    theirs: ["attempts"],
    ours: ["attempts", "outcome", "start"],
  },
  "`extend`": {
    line: async (bench) => {
      const lock = await bench.held(bench.redlock(), fresh());
      const extended = await lock.extend(20_000);
      return [extended === lock, lock.expiration > 0];
    },
    theirs: [false, false],
    ours: [true, true],
  },
  "`extend` by less than what is left": {
    line: async (bench) => {
      const resource = fresh();
      const lock = await bench.held(bench.redlock(), resource, 50_000);
      await Promise.all((await lock.extend(5000)).attempts);
      return (await bench.fleet.lifetimes(resource)).map((left) => left > 10_000);
    },
    theirs: [false, false, false],
    ours: [true, true, true],
  },
  "`extend`, where one of three masters has forgotten the lock": {
    line: async (bench) => {
      const resource = fresh();
      const lock = await bench.held(bench.redlock(), resource);
      await bench.fleet.free(resource, bench.fleet.masters.slice(0, 1));
      await Promise.all((await lock.extend(10_000)).attempts);
      return bench.copies(resource);
    },
    theirs: 2,
    ours: 3,
  },
  "`using`, if the lock was lost and the routine returns all the same": {
    line: async (bench) => {
      const resource = fresh();
      const redlock = bench.redlock(single);
      return redlock
        .using([resource], 5000, async () => {
          await bench.fleet.free(resource);
          return "result";
        })
        .catch((error: unknown) => kindOf(bench, error));
    },
    theirs: "ExecutionError",
    ours: "result",
  },
  "`using` with a duration near the threshold of the constructor": {
    line: async (bench) => outcome(bench, () => bench.redlock().using([fresh()], 500, async () => 1)),
    theirs: "Error",
    ours: "works",
  },
  "a lock that is granted after a long wait": {
    line: async (bench) => {
      const resource = await bench.occupied(3, 800);
      const lock = await bench.redlock({ ...quick, retryCount: -1 }).acquire([resource], 500);
      return lock.expiration > Date.now();
    },
    theirs: false,
    ours: true,
  },
  "a tie: one of two masters refuses": {
    line: async (bench) => {
      const acquiring = outcome(bench, async () =>
        bench.redlock(single, bench.clients(2)).acquire([await bench.occupied(1)], 5000),
      );
      // The answers of both masters are in long before.
      const pending = new Promise((resolve) => setTimeout(resolve, 1500, "pending"));
      return Promise.race([acquiring, pending]);
    },
    theirs: "pending",
    ours: "ResourceLockedError",
  },
  "a short duration": {
    line: async (bench) => {
      const redlock = bench.redlock({ nodeTimeout: undefined });
      return Promise.all([2, 99].map((ttl) => outcome(bench, () => redlock.acquire([fresh()], ttl))));
    },
    theirs: ["works", "works"],
    ours: ["Error", "Error"],
  },
  "a duration of 0, below 0, `NaN`, or as text": {
    line: async (bench) => {
      const errors = [0, -5, Number.NaN, "5000" as never].map((duration) =>
        thrown(async () => bench.redlock(single).acquire([fresh()], duration)),
      );
      return (await Promise.all(errors)).map(({ name }) => name);
    },
    theirs: ["ExecutionError", "ExecutionError", "Error", "Error"],
    ours: Array.from({ length: 4 }, () => "InvalidArgumentError"),
  },
  "no resources, an empty name, a name twice": {
    line: async (bench) => {
      const redlock = bench.redlock();
      const name = fresh();
      return Promise.all(
        [[], [""], [name, name]].map((resources) => outcome(bench, () => redlock.acquire(resources, 5000))),
      );
    },
    theirs: ["works", "works", "works"],
    ours: ["Error", "Error", "Error"],
  },
  "text for the resources": {
    line: async (bench) => {
      const redlock = bench.redlock();
      const lock = await redlock.acquire("xyz", 5000);
      await Promise.all(lock.attempts);
      const copies = [await bench.copies("xyz"), await bench.copies("x")];
      await lock.release();
      return copies;
    },
    theirs: [0, 3],
    ours: [3, 0],
  },
  "a resource that begins with `quorlock:`": {
    line: async (bench) => outcome(bench, () => bench.redlock().acquire([`quorlock:${fresh()}`], 5000)),
    theirs: "works",
    ours: "Error",
  },
  "the same client twice": {
    line: async (bench) => {
      const [client] = bench.clients(1);
      return outcome(bench, () => bench.redlock({}, [client!, client!]));
    },
    theirs: "works",
    ours: "Error",
  },
  "unknown settings, and settings of a wrong type": {
    line: async (bench) => [
      await outcome(bench, () => bench.redlock({ retries: 5 })),
      await outcome(bench, () => bench.redlock({ retryCount: "5" })),
    ],
    theirs: ["works", "works"],
    ours: ["Error", "Error"],
  },
  "a setting of a call that is `undefined` or `null`": {
    line: async (bench) => {
      const redlock = bench.redlock({ ...quick, retryCount: 3 });
      const lengths: number[] = [];
      for (const retryCount of [undefined, null]) {
        const resource = await bench.occupied();
        const error = await thrown(() => redlock.acquire([resource], 5000, { retryCount }));
        lengths.push(error.attempts.length);
      }
      return lengths;
    },
    theirs: [1, 1],
    ours: [4, 4],
  },
  "`redlock.settings.retryCount` of `Infinity`": {
    line: async (bench) => bench.redlock({ retryCount: Number.POSITIVE_INFINITY }).settings.retryCount,
    theirs: Number.POSITIVE_INFINITY,
    ours: -1,
  },
  "changing `redlock.settings` or `redlock.clients`": {
    line: async (bench) => {
      const redlock = bench.redlock();
      const isFixed = Object.isFrozen(redlock.settings);
      redlock.clients.clear();
      return [isFixed, redlock.clients.size];
    },
    theirs: [false, 0],
    ours: [true, 3],
  },
  "custom scripts": {
    line: async (bench) =>
      outcome(bench, () =>
        bench.redlock({}, bench.clients(), { acquireScript: (script: string) => `${script}\n` }),
      ),
    theirs: "works",
    ours: "Error",
  },
  "`attempts` of a long call": {
    line: async (bench) =>
      lengthOf(bench, await bench.occupied(), { retryDelay: 1, retryCount: 40, queue: false }),
    theirs: 41,
    ours: 32,
  },
  "`lock.value`": {
    line: async (bench) => {
      const lock = await bench.redlock().acquire([fresh()], 5000);
      await lock.release();
      return /^[0-9a-f]{32}$/.test(lock.value) ? "32 hex" : lock.value.replace(/^[0-9a-f]{32}/, "32 hex");
    },
    theirs: "32 hex",
    ours: "32 hex.0",
  },
  "`lock.resources`": {
    line: async (bench) => {
      const resources = [fresh()];
      const lock = await bench.redlock().acquire(resources, 5000);
      await lock.release();
      return lock.resources === resources;
    },
    theirs: true,
    ours: false,
  },
  "assigning `lock.expiration`": {
    line: async (bench) => {
      const redlock = bench.redlock();
      const [later, earlier] = [await bench.held(redlock, fresh(), 5000), await bench.held(redlock, fresh())];
      later.expiration = Date.now() + 100_000;
      earlier.expiration = Date.now() + 5000;
      const extended = await earlier.extend(20_000);
      return [later.expiration > Date.now() + 50_000, extended.expiration > Date.now() + 10_000];
    },
    theirs: [true, true],
    ours: [false, false],
  },
  "an object like a lock": {
    line: async (bench) => {
      const redlock = bench.redlock();
      const { resources, value, expiration } = await bench.held(redlock, fresh());
      return outcome(bench, () => redlock.release({ resources, value, expiration }));
    },
    theirs: "works",
    ours: "Error",
  },
  "locks that are held at `quit`": {
    line: async (bench) => {
      const redlock = bench.redlock();
      const resource = fresh();
      await bench.held(redlock, resource);
      await redlock.quit();
      return bench.copies(resource);
    },
    theirs: 3,
    ours: 0,
  },
  "calls after `quit`": {
    line: async (bench) => {
      const redlock = bench.redlock(single);
      await redlock.quit();
      return kindOf(bench, await thrown(() => redlock.acquire([fresh()], 5000)));
    },
    theirs: "ExecutionError",
    ours: "Error",
  },
  "the commands on your client": {
    line: async (bench) => {
      const clients = bench.clients();
      let count = 0;
      for (const client of clients) {
        const send = client.sendCommand.bind(client);
        client.sendCommand = (command, stream) => {
          if (command.name.startsWith("eval")) count += 1;
          return send(command, stream);
        };
      }
      await (await bench.held(bench.redlock({}, clients), fresh())).release();
      return count > 0;
    },
    theirs: true,
    ours: false,
  },
  "members that begin with an underscore": {
    line: async (bench) => "_execute" in bench.redlock(),
    theirs: true,
    ours: false,
  },
  "the own properties of a lock: `{ ...lock }`": {
    line: async (bench) => Object.keys({ ...(await bench.held(bench.redlock(), fresh())) }),
    theirs: ["redlock", "resources", "value", "attempts", "expiration"],
    ours: [],
  },
  "`JSON.stringify(lock)`": {
    line: async (bench) => {
      const lock = await bench.held(bench.redlock(), fresh());
      const text = JSON.stringify(lock);
      return [Object.keys(JSON.parse(text) as object), text.includes(lock.value)];
    },
    theirs: [["redlock", "resources", "value", "attempts", "expiration"], true],
    ours: [["resources", "state", "remaining", "expiration"], false],
  },
  "`structuredClone(lock)`": {
    line: async (bench) => {
      const lock = await bench.held(bench.redlock(), fresh());
      return outcome(bench, () => structuredClone(lock));
    },
    theirs: "Error",
    ours: "works",
  },
  "the arguments of the routine of `using`": {
    line: async (bench) =>
      bench.redlock().using([fresh()], 5000, async (...passed: unknown[]) => passed.length),
    theirs: 1,
    ours: 2,
  },
  "`using` of a subclass whose `acquire` returns an object like a lock": {
    line: async (bench) => {
      const redlock = bench.redlock();
      redlock.acquire = async () => ({ expiration: 0, release: async () => {} });
      return outcome(bench, () => redlock.using([fresh()], 5000, async () => 1));
    },
    theirs: "works",
    ours: "Error",
  },
};
