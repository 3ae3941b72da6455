import type { Lock, Redlock } from "@quorlock/redlock";
import type { Redis } from "ioredis";
import { closeClients, openClients } from "../contenders/contender.ts";
import { built } from "../contenders/ours.ts";
import { type Spread, spreadOf } from "../measure/statistics.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

/** Longer than a case takes, ms; what a case leaves behind is gone after it. */
const ttl = 60_000;
/** A waiter has its place in the queue by then, ms. */
const waitTimeout = 500;
/** What a master may be kept busy by one script, ms. */
const limit = 20;
const inbox = "quorlock:bench:inbox";

/** One client of one master, and the master itself. */
interface Stage {
  readonly redlock: Redlock;
  readonly redis: Redis;
}

interface Case {
  readonly name: string;
  /** What is there before; the locks that it needs. */
  readonly prepare: (stage: Stage, prefix: string) => Promise<readonly Lock[]>;
  /** What is timed. */
  readonly run: (stage: Stage, prefix: string, locks: readonly Lock[]) => Promise<unknown>;
}

/** In which state the waiters of a queue are: `heard` and `unheard` live, and somebody listens to their inbox or nobody does. */
type Waiters = "dead" | "heard" | "unheard";

/** Fills the queue of a key with waiters of other processes, as section 7 of docs/protocol.md has them. */
async function fill(redis: Redis, key: string, count: number, state: Waiters): Promise<void> {
  const queue = `quorlock:queue:{${key}}`;
  const commands = redis.pipeline();
  for (let first = 0; first < count; first += 1000) {
    const some = Array.from({ length: Math.min(1000, count - first) }, (_, index) => first + index);
    commands.zadd(queue, ...some.flatMap((waiter) => [waiter + 1, `waiter-${waiter}`]));
    if (state === "dead") continue;
    const listens = state === "heard" ? inbox : "quorlock:bench:nobody";
    for (const waiter of some) commands.set(`${queue}:waiter-${waiter}`, `1 ${ttl} ${listens}  g`, "PX", ttl);
  }
  commands.pexpire(queue, ttl);
  await commands.exec();
}

function keysOf(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}:${index}`);
}

const nothing = async (): Promise<readonly Lock[]> => [];
const releaseAll = (_: Stage, __: string, locks: readonly Lock[]): Promise<unknown> =>
  Promise.all(locks.map((lock) => lock.release()));
/** Waits for as long as it takes to have an entry in each queue, in vain or not. */
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
      await redis.set(`${prefix}:999`, "somebody", "PX", ttl);
      return [];
    },
    run: enqueue(1000),
  },
  {
    name: "queue entry behind 5,000 waiters",
    async prepare({ redis }, prefix) {
      await redis.set(`${prefix}:0`, "somebody", "PX", ttl);
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
    name: "release, 5,000 waiters that nobody hears any more",
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

/** How long one master is kept busy by the largest calls there can be: the scripts' worst cases, by its own slow log. */
export const scripts: Workload = {
  name: "scripts",
  async run({ urls }, scale) {
    const clients = await openClients([urls[0]!, urls[0]!, urls[0]!]);
    const [client, redis, listener] = clients;
    const redlock = new built.Redlock([client!], { waitTimeout });
    await listener!.subscribe(inbox);
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
  /** Of each try the longest script, ms. */
  readonly longest: Spread;
  /** How many scripts it took. */
  readonly calls: number;
}

async function measure({ name, prepare, run }: Case, stage: Stage, tries: number): Promise<Found> {
  const longest: number[] = [];
  let calls = 0;
  while (longest.length < tries) {
    const prefix = `scripts:${process.pid}:${name.replaceAll(/\W+/g, "-")}:${longest.length}`;
    const locks = await prepare(stage, prefix);
    await stage.redis.slowlog("RESET");
    const result = await run(stage, prefix, locks);
    const times = scriptTimesIn(await stage.redis.slowlog("GET", "-1"));
    calls = times.length;
    longest.push(Math.max(...times) / 1000);
    if (isLock(result)) await result.release();
  }
  return { name, longest: spreadOf(longest), calls };
}

function isLock(result: unknown): result is Lock {
  return result instanceof built.Lock;
}

/** Microseconds of each script in what SLOWLOG says: id, time, microseconds, the command. */
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
