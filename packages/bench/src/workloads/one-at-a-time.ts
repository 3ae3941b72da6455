import {
  baseline,
  before,
  control,
  ours,
  peers,
  pipelinedBaseline,
  pipelinedPeers,
} from "../contenders/lineup.ts";
import { type Column, measurementsOf, type Rounds, ratioOf, tableOf } from "../measure/rounds.ts";
import { startProgram } from "../programs/child.ts";
import type { Pairs, PairsTask } from "../programs/pairs.ts";
import type { DistanceTask, Listening } from "../programs/proxies.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Findings, Scale, Workload } from "../workload.ts";

const ttl = 10_000;
/** Operations of one contender in a row, with many contenders. */
const batch = 100;
/** With few: turns so long that the first operations, with cold caches, do not matter. */
const block = 250;
const blocks = 40;
const startLimit = 30_000;
const measureLimit = 300_000;
/** Few contenders: the more run between two turns of one, the colder its caches, which slows contenders with more code. */
const paired = [ours, before, baseline, control, "redlock"];
const everyone = [ours, before, baseline, control, pipelinedBaseline, ...peers, ...pipelinedPeers];

export type Quantity = "time" | "rate" | "cpu";

export const timeColumn: Column<Quantity> = { quantity: "time", title: "ms" };
const rowColumns: readonly Column<Quantity>[] = [
  timeColumn,
  { quantity: "rate", title: "acquire+release a second" },
  { quantity: "cpu", title: "client CPU us" },
];

/** One way to measure, with its goal. */
interface Setting {
  readonly title: string;
  /** The masters. */
  readonly urls: readonly string[];
  /** The contenders. */
  readonly names: readonly string[];
  /** Locks per turn of a contender. */
  readonly inARow: number;
  /** Turns of each contender. */
  readonly turns: number;
  /** Maximum time, relative to the baseline and to redlock 5. */
  readonly limits?: Readonly<Record<"baseline" | "redlock", number>>;
}

/**
 * The cost of one lock, acquired and released without contention, measured in three ways, each in its own process. *In
 * blocks* is the time and CPU of 250 operations without a pause, which includes the deferred work, such as the last two of
 * five replies. *Operation by operation* leaves that out: it is the time that a caller waits. Both with few contenders that
 * alternate. *In a row* is for all contenders.
 */
export const oneAtATime: Workload = {
  name: "one-at-a-time",
  inShort: true,
  async run({ urls }, scale) {
    const turns = scale.cycles ?? (scale.quick ? 500 : 5000);
    const names = scale.quick ? everyone.filter((name) => !pipelinedPeers.includes(name)) : everyone;
    const settings: readonly Omit<Setting, "urls">[] = [
      {
        title: `in blocks of ${block}`,
        names: paired,
        inARow: block,
        turns: scale.quick ? 10 : blocks,
        limits: { baseline: 1.05, redlock: 1 },
      },
      {
        title: "operation by operation",
        names: paired,
        inARow: 1,
        turns,
        limits: { baseline: 1.08, redlock: 1.03 },
      },
      { title: `${batch} in a row`, names, inARow: batch, turns: Math.ceil(turns / batch) },
    ];
    const findings: Required<Findings>[] = [];
    for (const setting of settings) {
      const title = `One at a time, ${setting.title}`;
      findings.push(await measured({ ...setting, title, urls }, urls, scale));
    }
    return {
      tables: findings.flatMap(({ tables }) => tables),
      goals: findings.flatMap(({ goals }) => goals),
      measurements: findings.flatMap(({ measurements }) => measurements),
    };
  },
};

/** The same with masters at a distance, where the client's own time hardly matters. */
export const distantMasters: Workload = {
  name: "distant-masters",
  async run(masters, scale) {
    const latency = 1;
    const targets = masters.list.map(({ host, port }) => ({ host, port }));
    const task: DistanceTask = { targets, latency };
    await using child = startProgram<Listening>("proxies", task);
    const { urls } = await child.message("listening", startLimit);
    const title = `Masters ${latency} ms away, one at a time`;
    const turns = scale.quick ? 60 : 1000;
    const limits = { baseline: 1.01, redlock: 1.01 };
    return await measured({ title, urls, names: paired, inARow: 1, turns, limits }, masters.urls, scale);
  },
};

/** `near`: the same masters without the added latency, for the warm-up. */
export async function playPairs(
  setting: Pick<Setting, "urls" | "names" | "inARow" | "turns">,
  near: readonly string[],
  { contenders, quick }: Scale,
): Promise<Rounds<Quantity>> {
  const { urls, inARow, turns } = setting;
  const names = setting.names.filter((name) => contenders.includes(name));
  const task: PairsTask = { names, terms: { urls, ttl }, near, inARow, turns, quick };
  await using child = startProgram<Pairs>("pairs", task);
  return new Map((await child.message("pairs", measureLimit)).rounds);
}

async function measured(
  setting: Setting,
  near: readonly string[],
  scale: Scale,
): Promise<Required<Findings>> {
  const { title, inARow } = setting;
  const rounds = await playPairs(setting, near, scale);
  // Single operations are too short for the kernel's accounting.
  const columns = inARow === 1 ? [timeColumn] : rowColumns;
  return {
    tables: [tableOf(title, rounds, columns, baseline)],
    goals: goalsOf(setting, rounds),
    measurements: inARow === 1 ? [] : measurementsOf(title, rounds, columns),
  };
}

function goalsOf({ title, limits }: Setting, rounds: Rounds<Quantity>): readonly Goal[] {
  if (!limits) return [];
  const ratio = (base: string, limit: number): readonly Goal[] =>
    ratioGoal(`${title}: ours`, ratioOf(rounds, ours, base, "time"), { limit, unit: `x ${base}` });
  const again = ratioOf(rounds, control, baseline, "time");
  const off = `${title}: ${baseline} against itself is off by`;
  return [
    ...ratio(baseline, limits.baseline),
    ...ratio("redlock", limits.redlock),
    ...ratio(before, 1),
    ...(again ? [{ name: off, measured: Math.abs(again.median - 1), limit: 0.03, unit: "" }] : []),
  ];
}
