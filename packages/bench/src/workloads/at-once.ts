import { setTimeout as pause } from "node:timers/promises";
import type { Master } from "@quorlock/testbed";
import type { Contender } from "../contenders/contender.ts";
import {
  baseline,
  before,
  Lineup,
  ours,
  peers,
  pipelinedBaseline,
  pipelinedPeers,
} from "../contenders/lineup.ts";
import { type Crowd, compareCrowds } from "../measure/crowd.ts";
import { type Load, type LoadQuantity, loadColumns, loadNote, runLoad, warmUp } from "../measure/load.ts";
import { heapInUse } from "../measure/meter.ts";
import {
  bestOf,
  type Column,
  measurementsOf,
  type Rounds,
  ratioOf,
  tableOf,
  valuesOf,
} from "../measure/rounds.ts";
import { alternate, spreadOf } from "../measure/statistics.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const ttl = 10_000;
const few = [ours, before, baseline, pipelinedBaseline, ...peers];
const everyone = [...few, ...pipelinedPeers];

/** Concurrent callers, and the goals for our client. */
interface Goals extends Crowd {
  /** Minimum rate, relative to the best peer with default clients. */
  readonly timesPeer: number;
  /** Minimum rate, relative to bare commands with auto-pipelining. */
  readonly timesPipelined?: number;
  /** Maximum client CPU, relative to redlock 5. */
  readonly clientCpu?: number;
}

const crowds: readonly Goals[] = [
  { callers: 8, inCompany: false, timesPeer: 1.5 },
  { callers: 64, inCompany: false, timesPeer: 6.5, timesPipelined: 3, clientCpu: 1 / 6 },
  { callers: 64, inCompany: true, timesPeer: 4 },
  { callers: 1024, inCompany: false, timesPeer: 5 },
];

/**
 * Many concurrent callers, each with its own resource: shows the gain from batching their commands. Each contender is in
 * its own process, warm. In company: its process uses ioredis for other work as well.
 */
export const atOnce: readonly Workload[] = crowds.map((crowd) => ({
  name: `${crowd.callers}-at-once${crowd.inCompany ? "-in-company" : ""}`,
  inShort: crowd.callers === 64 && !crowd.inCompany,
  async run({ urls }, scale) {
    const names = scale.quick || crowd.inCompany ? few : everyone;
    const title = `${titleOf(crowd)}, distinct keys, N=${urls.length}`;
    const rounds = await compareCrowds(names, { urls, ttl }, crowd, scale);
    return {
      tables: [tableOf(title, rounds, loadColumns, pipelinedBaseline, [loadNote])],
      goals: goalsOf(crowd, rounds),
      measurements: measurementsOf(title, rounds, loadColumns),
    };
  },
}));

function titleOf({ callers, inCompany }: Crowd): string {
  return `${callers.toLocaleString("en")} at once${inCompany ? " in company" : ""}`;
}

function goalsOf(crowd: Goals, rounds: Rounds<LoadQuantity>): readonly Goal[] {
  const where = titleOf(crowd);
  const rate = (base: string | undefined, limit: number | undefined): readonly Goal[] =>
    limit === undefined
      ? []
      : ratioGoal(`${where}: ours`, ratioOf(rounds, ours, base, "rate"), {
          limit,
          isFloor: true,
          unit: `x ${base}`,
        });
  const cpu = crowd.clientCpu ? ratioOf(rounds, ours, "redlock", "clientCpu") : undefined;
  const failed = valuesOf(rounds, ours, "failures");
  return [
    ...rate(bestOf(rounds, peers, "rate", "more"), crowd.timesPeer),
    ...rate(pipelinedBaseline, crowd.timesPipelined),
    ...rate(before, 1),
    ...ratioGoal(`${where}: our client CPU`, cpu, {
      limit: crowd.clientCpu ?? 1,
      unit: "x redlock",
      isJudged: false,
    }),
    ...(failed.length > 0
      ? [{ name: `${where}: our failures`, measured: Math.max(...failed), limit: 0, unit: "" }]
      : []),
  ];
}

const bytesInMegabyte = 1_000_000;
const hungCallers = 64;

type HungQuantity = "hung" | "healthy" | "ratio" | "failures";
const hungColumns: readonly Column<HungQuantity>[] = [
  { quantity: "hung", title: "a second, one hung" },
  { quantity: "healthy", title: "healthy" },
  { quantity: "ratio", title: "hung x healthy" },
  { quantity: "failures", title: "failed" },
];

/**
 * One of five masters hangs: its connection is open, but it does not answer. Blocks with and without the fault alternate, so
 * that drift of the machine affects both alike. The memory kept for the hung master must be bounded.
 */
export const oneHung: Workload = {
  name: "one-hung",
  async run({ urls, list }, scale) {
    const title = `One of ${urls.length} masters hung, ${hungCallers} at once`;
    const [victim] = list;
    if (!victim?.controllable) {
      const notes = ["not run: these masters cannot be stopped by the benchmark"];
      return { tables: [{ title, columns: [], rows: [], notes }], goals: [] };
    }
    await using lineup = await Lineup.open([ours, before, baseline], scale.contenders, { urls, ttl });
    await warmUp(lineup.contenders, hungCallers, scale);
    const load = { callers: hungCallers, milliseconds: scale.quick ? 300 : 1000, prefix: "one-hung" };
    const taken = await alternate(lineup.contenders, scale.quick ? 3 : 7, async (contender) => {
      const well = await runLoad(contender, load);
      await victim.hang();
      const ill = await runLoad(contender, load);
      await victim.resume();
      await contender.ready();
      const [healthy, hung] = [well.cycles / well.seconds, ill.cycles / ill.seconds];
      return { hung, healthy, ratio: hung / healthy, failures: ill.failures };
    });
    const rounds: Rounds<HungQuantity> = new Map([...taken].map(([{ name }, values]) => [name, values]));
    const mine = lineup.contenders.find(({ name }) => name === ours);
    const watched = scale.quick ? 3 : 12;
    const heap = mine && (await heapWhile(victim, mine, load, watched));
    const goals: Goal[] = [...ratioOfHung(rounds)];
    const notes: string[] = [];
    if (heap) {
      const { healthy, hung } = heap;
      notes.push(
        `Our heap in use under this load: ${figure(healthy)} MB; after each third of ${watched} s with one hung ${hung.map((value) => figure(value)).join(", ")}.`,
      );
      const measured = Math.max(...hung) - healthy;
      goals.push({ name: "one hung: our heap, more by", measured, limit: 20, unit: "MB" });
    }
    return {
      tables: [tableOf(title, rounds, hungColumns, baseline, notes)],
      goals,
      measurements: measurementsOf(title, rounds, hungColumns),
    };
  },
};

/** MB of heap in use under load: with healthy masters, and after each third of `seconds` with one hung. */
async function heapWhile(
  victim: Master,
  contender: Contender,
  load: Load,
  seconds: number,
): Promise<{ readonly healthy: number; readonly hung: readonly number[] }> {
  const third = (seconds * 1000) / 3;
  const heapsDuring = async (count: number): Promise<readonly number[]> => {
    // The load lasts longer than the measurement, so that the heap is always measured under load.
    const done = runLoad(contender, { ...load, milliseconds: count * third + 1000 });
    const heaps: number[] = [];
    while (heaps.length < count) {
      await pause(third);
      heaps.push((await heapInUse()) / bytesInMegabyte);
    }
    await done;
    return heaps;
  };
  const [healthy] = await heapsDuring(1);
  await victim.hang();
  const hung = await heapsDuring(3);
  await victim.resume();
  return { healthy: healthy!, hung };
}

function ratioOfHung(rounds: Rounds<HungQuantity>): readonly Goal[] {
  const spread = rounds.has(ours) ? spreadOf(valuesOf(rounds, ours, "ratio")) : undefined;
  return ratioGoal("one hung: ours, 64 at once", spread, { limit: 0.8, isFloor: true, unit: "x healthy" });
}
