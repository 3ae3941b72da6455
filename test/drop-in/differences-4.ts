import { Redis } from "ioredis";
// @ts-expect-error It has no types.
import { createClient as createClient3 } from "redis-3";
import { fresh } from "../integration/fleet/fleet.ts";
import { type Any, type Difference, thrown } from "./bench.ts";
import { type Bench4, outcome } from "./bench-4.ts";
import { spoiled } from "./cases-4.ts";

/** The differences: each is a line of the table in the README of @quorlock/redlock-4. */
export const differences4: Readonly<Record<string, Difference<Bench4>>> = {
  "`clientError` events of a key that is no lock, in three attempts on three masters": {
    line: async (bench) => (await eventsOf(bench)).length,
    theirs: 9,
    ours: 1,
  },
  "the error of a `clientError` event": {
    line: async (bench) => (await eventsOf(bench))[0].name,
    theirs: "ReplyError",
    ours: "NodeError",
  },
  "`lockScript`, `unlockScript`, `extendScript`": {
    line: async (bench) => {
      const options = { lockScript: (script: string) => `${script} and 1` };
      try {
        return typeof bench.redlock(options);
      } catch (error) {
        return (error as Error).message.slice(0, 49);
      }
    },
    theirs: "object",
    ours: "lockScript: scripts of your own are not supported",
  },
  "`redlock.scripts`, `redlock._lock` and all that begins with `_`": {
    line: async (bench) => ["scripts", "_lock", "_random"].map((name) => typeof bench.redlock()[name]),
    theirs: ["object", "function", "function"],
    ours: ["undefined", "undefined", "undefined"],
  },
  "`Redlock.call(this, clients)`": {
    line: async ({ library, shared }) => outcome(() => library.call({ _hashScript: () => "" }, shared)),
    theirs: "works",
    ours: "TypeError",
  },
  "clients of node_redis 2 and 3": {
    line: async (bench) => {
      const client = createClient3({ port: bench.masters[0]!.port });
      const told = await outcome(() => bench.redlock({}, [client]));
      client.end(true);
      return told;
    },
    theirs: "works",
    ours: "InvalidArgumentError",
  },
  "several clients of one master": {
    line: async (bench) => {
      const clients = [1, 2, 3].map((db) => new Redis({ port: bench.masters[0]!.port, db }));
      const told = await outcome(() => bench.redlock({}, clients).lock(fresh(), 5000));
      for (const client of clients) client.disconnect();
      return told;
    },
    theirs: "works",
    ours: "LockError",
  },
  "a client twice": {
    line: async (bench) => outcome(() => bench.redlock({}, [bench.shared[0], bench.shared[0]])),
    theirs: "works",
    ours: "InvalidArgumentError",
  },
  "unknown options, and options of a wrong type": {
    line: async (bench) => [
      await outcome(() => bench.redlock({ retries: 5 })),
      await outcome(() => bench.redlock({ retryCount: "5" })),
      await outcome(() => bench.redlock().lockWithOptions(fresh(), 5000, { retries: 5 })),
    ],
    theirs: ["works", "works", "works"],
    ours: ["InvalidArgumentError", "InvalidArgumentError", "InvalidArgumentError"],
  },
  "a ttl of 0, below 0, of less than 4, or `NaN`": {
    line: async (bench) => {
      const redlock = bench.redlock({ retryCount: 0 });
      return Promise.all([0, -5, 2, Number.NaN].map((ttl) => outcome(() => redlock.lock(fresh(), ttl))));
    },
    theirs: ["LockError", "LockError", "LockError", "LockError"],
    ours: Array.from({ length: 4 }, () => "InvalidArgumentError"),
  },
  "a ttl as text": {
    line: async (bench) => outcome(() => bench.redlock().lock(fresh(), "5000")),
    theirs: "works",
    ours: "InvalidArgumentError",
  },
  "no resources, an empty name, a name twice": {
    line: async (bench) => {
      const name = fresh();
      return Promise.all(
        [[], [""], [name, name]].map((resources) => outcome(() => bench.redlock().lock(resources, 5000))),
      );
    },
    theirs: ["works", "works", "works"],
    ours: Array.from({ length: 3 }, () => "InvalidArgumentError"),
  },
  "a resource that begins with `quorlock:`": {
    line: async (bench) => outcome(() => bench.redlock().lock(`quorlock:${fresh()}`, 5000)),
    theirs: "works",
    ours: "InvalidArgumentError",
  },
  "`extend` by less than what is left": {
    line: async (bench) => {
      const resource = fresh();
      const lock = await bench.held(resource, 50_000);
      await lock.extend(5000);
      return (await bench.fleet.lifetimes(resource)).filter((left) => left > 10_000).length;
    },
    theirs: 0,
    ours: 3,
  },
  "`extend`, where one of three masters has forgotten the lock": {
    line: async (bench) => {
      const lock = await bench.forgotten(bench.masters.slice(0, 1));
      await lock.extend(10_000);
      // Both ask all servers at once; a later round is behind the answers of all.
      await lock.extend(20_000);
      return bench.copies(lock.resource[0]);
    },
    theirs: 2,
    ours: 3,
  },
  "`extend` of a lock that was lost: attempts": {
    line: async (bench) => {
      const lock = await bench.forgotten();
      const { name, attempts } = await thrown(() => lock.extend(5000));
      return [name, attempts];
    },
    theirs: ["LockError", 3],
    ours: ["LockError", 1],
  },
  "masters that hang": {
    line: async (bench) => {
      const redlock = bench.redlock({ retryCount: 0 });
      await bench.held(fresh(), 5000, redlock);
      const hanging = bench.masters.slice(0, 2);
      await Promise.all(hanging.map((master) => master.hang()));
      try {
        const pending = new Promise((resolve) => setTimeout(resolve, 1500, "pending"));
        return await Promise.race([outcome(() => redlock.lock(fresh(), 500)), pending]);
      } finally {
        await Promise.all(hanging.map((master) => master.resume()));
      }
    },
    theirs: "pending",
    ours: "LockError",
  },
  "`quit` while a lock is held": {
    line: async (bench) => {
      const [resource, redlock] = [fresh(), bench.redlock({}, bench.clients())];
      await bench.held(resource, 5000, redlock);
      await redlock.quit();
      return bench.copies(resource);
    },
    theirs: 3,
    ours: 0,
  },
};

async function eventsOf(bench: Bench4): Promise<Any[]> {
  const redlock = bench.redlock();
  const events: Any[] = [];
  redlock.on("clientError", (error: unknown) => events.push(error));
  const resource = await spoiled(bench);
  await thrown(() => redlock.lock(resource, 5000));
  return events;
}
