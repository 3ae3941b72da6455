import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import type { Script } from "@quorlock/redlock/internal";
import * as internal from "@quorlock/redlock/internal";
import type { Redis } from "ioredis";
import { alternate, median, pairwiseRatios, spreadOf } from "../measure/statistics.ts";
import type { Goal } from "../report/goal.ts";
import { figure, type Table } from "../report/table.ts";
import type { Findings } from "../workload.ts";

// The cost of the scripts for a master, beside those of another checkout: `pnpm bench --only scripts --beside DIR`.
// A release is spelled `l1,1;` here: scripts from before a release had one token count its tokens, and the present ones ignore it.

type Scripts = Readonly<Record<string, Script>>;
type Command = readonly [name: string, ...words: (string | number)[]];

/** The two must be known, and mean the same, in both checkouts. */
interface Case {
  readonly name: string;
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** Before each call. */
  readonly prepare: readonly Command[];
}

/** The channel of a waiter that is subscribed. */
const inbox = "quorlock:bench:inbox";
/** A state may cost this much more. */
const most = 1.05;

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, place) => `cost:${place}`);
const free = (keys: readonly string[]): Command => ["DEL", ...keys];
const held = (keys: readonly string[], ttl = 1000): readonly Command[] =>
  keys.map((key) => ["SET", key, `${"t".repeat(32)}.1`, "PX", ttl]);
const rival = `${"r".repeat(32)}.1`;
const own = `${"t".repeat(32)}.1`;
/** One waiter for `key`; `how` says what it wants of a release. */
const waiting = (key: string, how = "g", proposal = ""): readonly Command[] => [
  ["ZADD", `quorlock:queue:{${key}}`, 17, "w".repeat(32)],
  ["SET", `quorlock:queue:{${key}}:${"w".repeat(20)}`, `1 1000 ${inbox} ${proposal} ${how}`, "PX", 1000],
];
const unqueued = (keys: readonly string[]): Command => free(keys.map((key) => `quorlock:queue:{${key}}`));
const [one, three, few, many] = [names(1), names(3), names(2), names(32)];
const [key] = one as [string];
const readers = ["quorlock:rw:{cost}:readers", "quorlock:rw:{cost}:readers"];
const lockOfReaders = ["write", "readers", "rounds", "marks"].map((part) => `quorlock:rw:{cost}:${part}`);
const times = <T>(count: number, word: T): readonly T[] => Array.from({ length: count }, () => word);

const cases: readonly Case[] = [
  { name: "vote", script: "claimScript", keys: one, args: [own, 1000, 1], prepare: [free(one)] },
  { name: "vote, fenced", script: "claimScript", keys: one, args: [own, 1000, 1, 9], prepare: [free(one)] },
  { name: "extend", script: "claimScript", keys: one, args: [own, 2000, 0], prepare: held(one) },
  { name: "vote, 3 keys", script: "claimScript", keys: three, args: [own, 1000, 1], prepare: [free(three)] },
  { name: "extend, 3 keys", script: "claimScript", keys: three, args: [own, 2000, 0], prepare: held(three) },
  {
    name: "queue entry",
    script: "enqueueScript",
    keys: one,
    args: [own, 1000, 17, 1000, "", "-"],
    prepare: [["SET", key, rival, "PX", 1000], unqueued(one)],
  },
  {
    name: "queue entry, 3 keys",
    script: "enqueueScript",
    keys: three,
    args: [own, 1000, 17, 1000, "", "-"],
    prepare: [free(three), ["SET", key, rival, "PX", 1000], unqueued(three)],
  },
  {
    name: "vote with a queue",
    script: "enqueueScript",
    keys: one,
    args: [own, 1000, 17, 1000, "", "-"],
    prepare: [free(one), unqueued(one)],
  },
  { name: "release without a queue", script: "releaseScript", keys: one, args: [own], prepare: held(one) },
  { name: "release", script: "leaveScript", keys: one, args: [own], prepare: [...held(one), unqueued(one)] },
  {
    name: "release, 3 keys",
    script: "leaveScript",
    keys: three,
    args: [own],
    prepare: [...held(three), unqueued(three)],
  },
  {
    name: "release and grant",
    script: "leaveScript",
    keys: one,
    args: [own],
    prepare: [...held(one), ...waiting(key)],
  },
  {
    name: "release and grant, fenced",
    script: "leaveScript",
    keys: one,
    args: [own],
    prepare: [...held(one), ...waiting(key, "g", "9")],
  },
  {
    name: "release and wake",
    script: "leaveScript",
    keys: one,
    args: [own],
    prepare: [...held(one), unqueued(one), ...waiting(key, "w")],
  },
  ...[few, many].flatMap((keys): readonly Case[] => [
    {
      name: `batch of ${keys.length} votes`,
      script: "voteBatchScript",
      keys,
      args: [1000, ...times(keys.length, own)],
      prepare: [free(keys)],
    },
    {
      name: `batch of ${keys.length} releases`,
      script: "releaseBatchScript",
      keys,
      args: times(keys.length, own),
      prepare: [...held(keys), unqueued(keys)],
    },
    {
      name: `batch of ${keys.length}, half extensions, half releases`,
      script: "batchScript",
      keys,
      args: [`${keys.length / 2}e1,2000;${keys.length / 2}l1,1;`, ...times(keys.length, own)],
      prepare: [...held(keys), unqueued(keys)],
    },
    {
      name: `batch of ${keys.length}, half queue entries, half grants`,
      script: "batchScript",
      keys,
      args: [
        `${keys.length / 2}q1,1000,17,1000;${keys.length / 2}l1,1;`,
        ...times(keys.length / 2, [own, "-"]).flat(),
        ...times(keys.length / 2, own),
      ],
      prepare: [
        unqueued(keys),
        ...keys.flatMap((each, place): readonly Command[] =>
          place < keys.length / 2 ? [["SET", each, rival, "PX", 1000]] : [...held([each]), ...waiting(each)],
        ),
      ],
    },
  ]),
  {
    name: "a reader's vote and release",
    script: "sharedBatchScript",
    keys: [...readers, ...lockOfReaders],
    args: ["v1,1000;l1,1;", own, own],
    prepare: [free(lockOfReaders)],
  },
  {
    name: "a writer's queue entry",
    script: "sharedBatchScript",
    keys: lockOfReaders,
    args: ["q1,1000,17,1000;", own, "-"],
    prepare: [
      free([...lockOfReaders, `quorlock:queue:tagged:${lockOfReaders[0]}`]),
      ["ZADD", lockOfReaders[1]!, 2 ** 45, "r".repeat(32)],
    ],
  },
];

/** Microseconds of one call, by the master. */
async function costOf(
  redis: Redis,
  { keys, args, prepare }: Case,
  script: Script,
  calls: number,
): Promise<number> {
  await redis.script("LOAD", script.source);
  await redis.config("RESETSTAT");
  const commands = redis.pipeline();
  for (let call = 0; call < calls; call += 1) {
    for (const [name, ...words] of prepare) commands.call(name, ...words);
    commands.evalsha(script.sha1, keys.length, ...keys, ...args);
  }
  for (const [error] of (await commands.exec()) ?? []) if (error) throw error;
  const [, microseconds] = /^cmdstat_evalsha:.*usec_per_call=([\d.]+)/m.exec(
    await redis.info("commandstats"),
  )!;
  return Number(microseconds);
}

/** The scripts of the package that is built in another checkout. */
async function scriptsIn(folder: string): Promise<Scripts> {
  const manifest = new URL("packages/redlock/package.json", pathToFileURL(`${folder}/`));
  const { exports } = JSON.parse(await readFile(manifest, "utf8")) as {
    exports: { "./internal": { import: { default: string } } };
  };
  return (await import(new URL(exports["./internal"].import.default, manifest).href)) as Scripts;
}

/** Compares each script with that of the checkout, in turns. */
export async function costsBeside(
  folder: string,
  redis: Redis,
  listener: Redis,
  passes: number,
): Promise<Findings> {
  await listener.subscribe(inbox);
  const states: readonly Scripts[] = [await scriptsIn(folder), internal as unknown as Scripts];
  const rows: string[][] = [];
  const goals: Goal[] = [];
  for (const each of cases) {
    const costs = await alternate(states, passes, (scripts) =>
      costOf(redis, each, scripts[each.script]!, 20),
    );
    const [before, now] = states.map((scripts) => costs.get(scripts)!) as [
      readonly number[],
      readonly number[],
    ];
    const ratio = spreadOf(pairwiseRatios(now, before));
    const range = `${figure(ratio.low)}..${figure(ratio.high)}`;
    rows.push([each.name, figure(median(before)), figure(median(now)), figure(ratio.median), range]);
    const name = `scripts: ${each.name}`;
    goals.push({ name, measured: ratio.median, spread: ratio, limit: most, unit: "x beside" });
  }
  const title = "What a call costs its master, beside the scripts of another state";
  const notes = [
    `us by INFO commandstats; ${passes} blocks of 20 calls of each, in turn; the median of their ratios.`,
  ];
  return {
    tables: [{ title, columns: ["", "beside", "this", "ratio", "95 %"], rows, notes } satisfies Table],
    goals,
  };
}
