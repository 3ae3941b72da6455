import type { Lock, Redlock } from "@quorlock/redlock";
import type { Redis } from "ioredis";
import { closeClients, openClients } from "../contenders/contender.ts";
import { built } from "../contenders/ours.ts";
import { type Spread, spreadOf } from "../measure/statistics.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";
import { costsBeside } from "./script-costs.ts";

/** Longer than a case takes, ms; keys that a case leaves behind expire after it. */
const ttl = 60_000;
/** Long enough for a waiter to get its queue entry, ms. */
const waitTimeout = 500;
/** The goal: the longest time that one script blocks its master, ms. */
const limit = 20;
/** The channel on which waiters receive grants. */
const grantChannel = "quorlock:bench:grant";

/** A client with a single master, and a connection to that master. */
interface Fixture {
  readonly redlock: Redlock;
  readonly redis: Redis;
}

interface Case {
  readonly name: string;
  /** Sets up the keys, and returns the locks that `run` needs. */
  readonly prepare: (fixture: Fixture, prefix: string) => Promise<readonly Lock[]>;
  /** The calls whose scripts are timed. */
  readonly run: (fixture: Fixture, prefix: string, locks: readonly Lock[]) => Promise<unknown>;
}

/** The state of the waiters in a queue. `heard`: alive, and their grant channel has a subscriber; `unheard`: it has none. */
type Waiters = "dead" | "heard" | "unheard";

/** Fills the queue of a key with waiters of other processes, in the format of docs/protocol.md, section 7. */
async function fill(redis: Redis, key: string, count: number, state: Waiters): Promise<void> {
  const queue = `quorlock:queue:{${key}}`;
  const commands = redis.pipeline();
  for (let first = 0; first < count; first += 1000) {
    const some = Array.from({ length: Math.min(1000, count - first) }, (_, index) => first + index);
    commands.zadd(queue, ...some.flatMap((waiter) => [waiter + 1, `waiter-${waiter}`]));
    if (state === "dead") continue;
    const listens = state === "heard" ? grantChannel : "quorlock:bench:absent";
    for (const waiter of some) commands.set(`${queue}:waiter-${waiter}`, `1 ${ttl} ${listens}  g`, "PX", ttl);
  }
  commands.pexpire(queue, ttl);
  await commands.exec();
}

function keysOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}:${index}`);
}

const nothing = async (): Promise<readonly Lock[]> => [];
const releaseAll = (_: Fixture, __: string, locks: readonly Lock[]): Promise<unknown> =>
  Promise.all(locks.map((lock) => lock.release()));
/** Acquires, or waits for `waitTimeout`, long enough to have an entry in each queue. */
const enqueue =
  (count: number): Case["run"] =>
  ({ redlock }, prefix) =>
    redlock.acquire([...keysOf(prefix, count)], ttl).catch(() => {});
const hold =
  (count: number, waiting: { queues: number; each: number; state: Waiters }): Case["prepare"] =>
  async ({ redlock, redis }, prefix) => {
    const lock = await redlock.acquire([...keysOf(prefix, count)], ttl);
    const { queues, each, state } = waiting;
    for (const key of keysOf(prefix, queues)) await fill(redis, key, each, state);
    return [lock];
  };

const cases: readonly Case[] = [
  { name: "claim of 1,000 keys", prepare: nothing, run: enqueue(1000) },
  {
    name: "release of 1,000 keys",
    prepare: hold(1000, { queues: 0, each: 0, state: "dead" }),
    run: releaseAll,
  },
  {
    name: "queue entry for 1,000 keys, the last is taken",
    async prepare({ redis }, prefix) {
      await redis.set(`${prefix}:999`, "rival", "PX", ttl);
      return [];
    },
    run: enqueue(1000),
  },
  {
    name: "queue entry behind 5,000 waiters",
    async prepare({ redis }, prefix) {
      await redis.set(`${prefix}:0`, "rival", "PX", ttl);
      await fill(redis, `${prefix}:0`, 5000, "heard");
      return [];
    },
    run: enqueue(1),
  },
  {
    name: "release to the first of 5,000 waiters",
    prepare: hold(1, { queues: 1, each: 5000, state: "heard" }),
    run: releaseAll,
  },
  {
    name: "release, 5,000 waiters without a subscriber",
    prepare: hold(1, { queues: 1, each: 5000, state: "unheard" }),
    run: releaseAll,
  },
  {
    name: "release of 8 keys, 1,000 dead waiters each",
    prepare: hold(8, { queues: 8, each: 1000, state: "dead" }),
    run: releaseAll,
  },
  {
    name: "queue entry for 1,000 keys, 128 dead waiters on each of 500",
    async prepare({ redis }, prefix) {
      for (const key of keysOf(prefix, 500)) await fill(redis, key, 128, "dead");
      return [];
    },
    run: enqueue(1000),
  },
  {
    name: "release of 1,000 keys, 128 dead waiters on each of 500",
    prepare: hold(1000, { queues: 500, each: 128, state: "dead" }),
    run: releaseAll,
  },
  {
    name: "128 claims of 4 keys each, at once",
    prepare: nothing,
    run: ({ redlock }, prefix) =>
      Promise.all(keysOf(prefix, 128).map((name) => redlock.acquire([...keysOf(name, 4)], ttl))),
  },
  {
    name: "128 releases of 4 keys each, at once",
    prepare: ({ redlock }, prefix) =>
      Promise.all(keysOf(prefix, 128).map((name) => redlock.acquire([...keysOf(name, 4)], ttl))),
    run: releaseAll,
  },
];

/** How long the largest possible calls block one master: the scripts' worst cases, by the master's slow log. */
export const scripts: Workload = {
  name: "scripts",
  async run({ urls }, scale) {
    const clients = await openClients([urls[0]!, urls[0]!, urls[0]!]);
    const [client, redis, listener] = clients;
    if (scale.beside !== undefined)
      return costsBeside(scale.beside, redis!, listener!, scale.quick ? 20 : 1000).finally(() =>
        closeClients(clients),
      );
    const redlock = new built.Redlock([client!], { waitTimeout });
    await listener!.subscribe(grantChannel);
    const settings = ["slowlog-log-slower-than", "slowlog-max-len"] as const;
    const before = await Promise.all(settings.map((name) => redis!.config("GET", name)));
    await redis!.config("SET", settings[0], "0");
    await redis!.config("SET", settings[1], "4096");
    try {
      const found: Found[] = [];
      for (const one of cases)
        found.push(await measure(one, { redlock, redis: redis! }, scale.quick ? 2 : 7));
      return { tables: [{ title, columns, rows: found.map(rowOf), notes }], goals: found.map(goalOf) };
    } finally {
      for (const setting of before) {
        const [name, value] = setting as [string, string];
        await redis!.config("SET", name, value);
      }
      await redlock.quit();
      closeClients(clients);
    }
  },
};

interface Found {
  readonly name: string;
  /** The longest script of each try, ms. */
  readonly longest: Spread;
  /** Scripts executed per try. */
  readonly calls: number;
}

async function measure({ name, prepare, run }: Case, fixture: Fixture, tries: number): Promise<Found> {
  const longest: number[] = [];
  let calls = 0;
  while (longest.length < tries) {
    const prefix = `scripts:${process.pid}:${name.replaceAll(/\W+/g, "-")}:${longest.length}`;
    const locks = await prepare(fixture, prefix);
    await fixture.redis.slowlog("RESET");
    const result = await run(fixture, prefix, locks);
    const times = scriptTimesIn(await fixture.redis.slowlog("GET", "-1"));
    calls = times.length;
    longest.push(Math.max(...times) / 1000);
    if (isLock(result)) await result.release();
  }
  return { name, longest: spreadOf(longest), calls };
}

function isLock(result: unknown): result is Lock {
  return result instanceof built.Lock;
}

/** The duration of each script in the reply of SLOWLOG, microseconds. An entry is id, time, duration, command. */
function scriptTimesIn(log: unknown): readonly number[] {
  const entries = log as ReadonlyArray<readonly [number, number, number, readonly string[]]>;
  return entries.filter(([, , , [command]]) => /^eval/i.test(command ?? "")).map(([, , time]) => time);
}

const title = "The largest calls there can be: how long a script keeps its master busy";
const columns = ["", "longest script ms", "95 %", "scripts"];
const notes = ["By SLOWLOG of one master, of which the client has no others."];

function rowOf({ name, longest, calls }: Found): readonly string[] {
  return [name, figure(longest.median), `${figure(longest.low)}..${figure(longest.high)}`, `${calls}`];
}

function goalOf({ name, longest }: Found): Goal {
  return { name: `scripts: ${name}`, measured: longest.median, spread: longest, limit, unit: "ms" };
}
