import type { Masters } from "@quorlock/testbed";
import { acquireAndRelease, type Contender } from "../contenders/contender.ts";
import { type Failure, inflict, repair, untouchable } from "../contenders/failure.ts";
import { baseline, Lineup, ours, peers } from "../contenders/lineup.ts";
import { alternate } from "../measure/alternate.ts";
import { median, pairwiseRatios, summaryOf } from "../measure/statistics.ts";
import { TimeUpError, within } from "../measure/within.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Scale, Workload } from "../workload.ts";

const ttl = 10_000;
/** So long may a library that does not settle keep us, each time, ms. */
const patience = 2000;
const peerOperations = 25;

const failures: readonly Failure[] = [
  { name: "one of five hung", kind: "hung", count: 1 },
  { name: "one of five refusing", kind: "refusing", count: 1 },
  { name: "two of five hung", kind: "hung", count: 2 },
  { name: "two of five refusing", kind: "refusing", count: 2 },
];

const columns = ["", "healthy ms", "failing ms", "p90 ms", "x healthy", "p10..p90"];

/**
 * A minority of masters fails: what a lock costs now, against what it cost a moment ago. Blocks of operations
 * on healthy and on failing masters alternate, so that the machine's drift hits both alike.
 */
export const failingMasters: Workload = {
  name: "failing-masters",
  async run(masters, scale) {
    const title = "A minority of masters fails: one at a time, N=5";
    const notReadyReason = untouchable(masters);
    if (notReadyReason) return { tables: [{ title, columns, rows: [], notes: [notReadyReason] }], goals: [] };
    const rows: string[][] = [];
    const goals: Goal[] = [];
    for (const failure of failures) {
      const blocks = await measureBlocks(failure, masters, scale);
      for (const [name, times] of blocks) rows.push(rowOf(`${failure.name}: ${name}`, times));
      const mine = blocks.get(ours);
      if (mine) {
        const measured = median(ratiosOf(mine));
        goals.push({ name: `${failure.name}: ours`, measured, limit: 1.2, unit: "x healthy" });
      }
      rows.push(...(await measurePeers(failure, masters, scale)));
    }
    const notes = [
      "x healthy: the median of the ratios of a failing block to the healthy one before it.",
      "The first operations after the failure are counted; a failed one counts as infinitely long.",
    ];
    return { tables: [{ title, columns, rows, notes }], goals };
  },
};

/** The times of one contender, block by block: equal indices belong together. */
interface Blocks {
  readonly healthy: number[][];
  readonly failing: number[][];
}

async function measureBlocks(
  failure: Failure,
  masters: Masters,
  scale: Scale,
): Promise<ReadonlyMap<string, Blocks>> {
  await using lineup = await Lineup.open([ours, baseline], scale.contenders, { urls: masters.urls, ttl });
  const { contenders } = lineup;
  const blocks = new Map(
    contenders.map(({ name }): [string, Blocks] => [name, { healthy: [], failing: [] }]),
  );
  const operations = scale.quick ? 40 : 150;
  const measure = async (state: keyof Blocks): Promise<void> => {
    const times = await alternate(contenders, operations, (contender) => timeOf(contender, failure.name));
    for (const [{ name }, taken] of times) blocks.get(name)![state].push([...taken]);
  };
  await alternate(contenders, operations * 2, (contender) => timeOf(contender, failure.name));
  for (let block = 0; block < (scale.quick ? 3 : 8); block += 1) {
    await measure("healthy");
    await inflict(failure, masters);
    try {
      await measure("failing");
    } finally {
      await repair(failure, masters);
    }
    await lineup.ready();
    // A restarted master knows no script, and connections that are new are slow.
    await alternate(contenders, operations / 4, (contender) => timeOf(contender, failure.name));
  }
  return blocks;
}

async function timeOf(contender: Contender, where: string): Promise<number> {
  try {
    return await acquireAndRelease(contender, `failing-masters:${contender.name}:${where}`);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

function ratiosOf(blocks: Blocks): number[] {
  return pairwiseRatios(blocks.failing.map(median), blocks.healthy.map(median));
}

function rowOf(name: string, blocks: Blocks): string[] {
  const failing = summaryOf(blocks.failing.flat());
  const ratio = summaryOf(ratiosOf(blocks));
  return [
    name,
    figure(median(blocks.healthy.flat())),
    figure(failing.median),
    figure(failing.p90),
    figure(ratio.median),
    `${figure(ratio.p10)}..${figure(ratio.p90)}`,
  ];
}

/** The other libraries, with new connections each round: one that hangs must not cost the next. */
async function measurePeers(failure: Failure, masters: Masters, scale: Scale): Promise<string[][]> {
  const blocks = new Map<string, Blocks>();
  for (let round = 0; round < (scale.quick ? 1 : 5); round += 1) {
    // A lock that was cut off stays locked: each round has resources of its own.
    const where = `${failure.name}:${round}`;
    await using lineup = await Lineup.open(peers, scale.contenders, { urls: masters.urls, ttl });
    const measure = async (state: keyof Blocks): Promise<void> => {
      for (const contender of lineup.contenders) {
        const { name } = contender;
        if (!blocks.has(name)) blocks.set(name, { healthy: [], failing: [] });
        blocks.get(name)![state].push(await timesWithin(contender, where));
      }
    };
    for (const contender of lineup.contenders) await timesWithin(contender, where);
    await measure("healthy");
    await inflict(failure, masters);
    try {
      await measure("failing");
    } finally {
      await repair(failure, masters);
    }
  }
  return [...blocks].map(([name, taken]) => peerRow(`${failure.name}: ${name}`, taken));
}

/** As many operations as come to an end while there is patience, within reason. */
async function timesWithin(contender: Contender, where: string): Promise<number[]> {
  const deadline = performance.now() + patience;
  const times: number[] = [];
  while (times.length < peerOperations && performance.now() < deadline) {
    try {
      times.push(await within(timeOf(contender, where), deadline - performance.now(), "no end"));
    } catch (error) {
      if (!(error instanceof TimeUpError)) throw error;
      break;
    }
  }
  return times;
}

function peerRow(name: string, blocks: Blocks): string[] {
  if (blocks.failing.some((times) => times.length > 0)) return rowOf(name, blocks);
  const healthy = figure(median(blocks.healthy.flat()));
  return [name, healthy, `does not settle in ${patience / 1000} s`, "-", "-", "-"];
}
