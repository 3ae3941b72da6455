import {
  baseline,
  before,
  control,
  Lineup,
  ours,
  peers,
  pipelinedBaseline,
  pipelinedPeers,
} from "../contenders/lineup.ts";
import { timeOf, warmUp } from "../measure/load.ts";
import { type Column, measurementsOf, type Rounds, ratioOf, tableOf } from "../measure/rounds.ts";
import { alternate } from "../measure/statistics.ts";
import { startProgram } from "../programs/child.ts";
import type { DistanceTask, Listening } from "../programs/proxies.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Findings, Scale, Workload } from "../workload.ts";

const ttl = 10_000;
/** Operations of one contender in a row: with fewer, the first one, with cold caches, would dominate. */
const batch = 100;
const startLimit = 30_000;
/** Few contenders: the more run between two turns of one, the colder its caches, which slows contenders with more code. */
const paired = [ours, before, baseline, control, "redlock"];
const everyone = [ours, before, baseline, control, pipelinedBaseline, ...peers, ...pipelinedPeers];

type Quantity = "time" | "rate" | "cpu";

const timeColumn: Column<Quantity> = { quantity: "time", title: "ms" };
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
  /** Maximum time, relative to the baseline. */
  readonly limit: number;
}

/**
 * The cost of one lock, acquired and released without contention, measured in two ways. *Operation by operation* is the
 * time that a caller waits, with few contenders that alternate; it leaves out deferred work, such as the last two of five
 * replies. *In a row* is the time and CPU of 100 operations without a pause, which includes the deferred work.
 */
export const oneAtATime: Workload = {
  name: "one-at-a-time",
  inShort: true,
  async run({ urls }, scale) {
    const turns = scale.cycles ?? (scale.quick ? 500 : 5000);
    const names = scale.quick ? everyone.filter((name) => !pipelinedPeers.includes(name)) : everyone;
    const settings: readonly Setting[] = [
      { title: "operation by operation", names: paired, inARow: 1, turns, urls, limit: 1.05 },
      {
        title: `${batch} in a row`,
        names,
        inARow: batch,
        turns: Math.ceil(turns / batch),
        urls,
        limit: 1.05,
      },
    ];
    const findings: Required<Findings>[] = [];
    for (const setting of settings) {
      findings.push(await measured({ ...setting, title: `One at a time, ${setting.title}` }, urls, scale));
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
    return await measured({ title, urls, names: paired, inARow: 1, turns, limit: 1.01 }, masters.urls, scale);
  },
};

/** `near`: the same masters without the added latency, for the warm-up. */
async function measured(
  setting: Setting,
  near: readonly string[],
  scale: Scale,
): Promise<Required<Findings>> {
  const { title, names, urls, inARow, turns } = setting;
  await using warm = await Lineup.open(names, scale.contenders, { urls: near, ttl });
  await warmUp(warm.contenders, 1, scale);
  await using lineup = await Lineup.open(names, scale.contenders, { urls, ttl });
  const taken = await alternate(lineup.contenders, turns, async (contender) => {
    const cpu = process.cpuUsage();
    const time = (await timeOf(contender, `one-at-a-time:${contender.name}`, inARow)) / inARow;
    const { user, system } = process.cpuUsage(cpu);
    return { time, rate: 1000 / time, cpu: (user + system) / inARow };
  });
  const rounds: Rounds<Quantity> = new Map([...taken].map(([{ name }, values]) => [name, values]));
  // Single operations are too short for the kernel's accounting.
  const columns = inARow === 1 ? [timeColumn] : rowColumns;
  return {
    tables: [tableOf(title, rounds, columns, baseline)],
    goals: goalsOf(setting, rounds),
    measurements: inARow === 1 ? [] : measurementsOf(title, rounds, columns),
  };
}

function goalsOf({ title, limit }: Setting, rounds: Rounds<Quantity>): readonly Goal[] {
  const ratio = (base: string, most: number): readonly Goal[] =>
    ratioGoal(`${title}: ours`, ratioOf(rounds, ours, base, "time"), { limit: most, unit: `x ${base}` });
  const again = ratioOf(rounds, control, baseline, "time");
  const off = `${title}: ${baseline} against itself is off by`;
  return [
    ...ratio(baseline, limit),
    // No goal where the round trip takes most of the time: no client can be faster.
    ...(limit > 1.01 ? ratio("redlock", 1) : []),
    ...ratio(before, 1),
    ...(again ? [{ name: off, measured: Math.abs(again.median - 1), limit: 0.03, unit: "" }] : []),
  ];
}
