import { acquireAndRelease, type Contender } from "../contenders/contender.ts";
import { baseline, before, control, Lineup, ours, peers } from "../contenders/lineup.ts";
import { alternate } from "../measure/alternate.ts";
import { pairwiseRatios, summaryOf } from "../measure/statistics.ts";
import type { Goal } from "../report/goal.ts";
import { figure, type Table } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const ttl = 10_000;
/** Operations of one contender in a row, where they are taken in a row. */
const batch = 25;
const everyone = [ours, before, baseline, control, ...peers];

interface Sample {
  readonly milliseconds: number;
  /** What this process spent on the CPU meanwhile, ms. */
  readonly cpu: number;
}

type Samples = ReadonlyMap<Contender, readonly Sample[]>;

/**
 * One lock at a time, acquired and released, nobody contending: what a lone lock costs.
 *
 * Taken in two ways. *Operation by operation* is the time a caller waits; what is left over for later, the last
 * two of five replies for one, is not in it. *In a row* is the time and the CPU of 25 without a pause between
 * them, where nothing can be put off to anybody else's turn.
 */
export const oneAtATime: Workload = {
  name: "one-at-a-time",
  inShort: true,
  async run(masters, scale) {
    const cycles = scale.cycles ?? (scale.quick ? 300 : 3000);
    await using lineup = await Lineup.open(everyone, scale.contenders, { urls: masters.urls, ttl });
    const { contenders } = lineup;
    await warmUp(contenders);
    const single = await alternate(contenders, cycles, measured(1));
    const inARow = await alternate(contenders, Math.max(1, Math.round(cycles / batch)), measured(batch));
    return {
      tables: [
        tableOf("One at a time, operation by operation", single, 1),
        tableOf(`One at a time, ${batch} in a row`, inARow, batch),
      ],
      goals: [...goalsOf("one at a time", single), ...goalsOf("one at a time, in a row", inARow)],
    };
  },
};

/** Until the compiler is done with all of them: that takes some thousand cycles, and longer where there is more code. */
async function warmUp(contenders: readonly Contender[]): Promise<void> {
  await alternate(contenders, 160, measured(batch));
}

function measured(count: number): (contender: Contender) => Promise<Sample> {
  return async (contender) => {
    const resource = `one-at-a-time:${contender.name}`;
    const cpu = process.cpuUsage();
    const begun = performance.now();
    for (let index = 0; index < count; index += 1) await acquireAndRelease(contender, resource);
    const milliseconds = performance.now() - begun;
    const { user, system } = process.cpuUsage(cpu);
    return { milliseconds, cpu: (user + system) / 1000 };
  };
}

function ratiosOf(
  samples: Samples,
  name: string,
  what: keyof Sample,
  to: string = baseline,
): number[] | undefined {
  const valuesOf = (wanted: string): number[] | undefined => {
    for (const [contender, taken] of samples) {
      if (contender.name === wanted) return taken.map((sample) => sample[what]);
    }
    return undefined;
  };
  const base = valuesOf(to);
  const values = valuesOf(name);
  return base && values && pairwiseRatios(values, base);
}

function tableOf(title: string, samples: Samples, count: number): Table {
  const rows = [...samples].map(([{ name }, taken]) => {
    const time = summaryOf(taken.map((sample) => sample.milliseconds / count));
    const ratio = summaryOf(ratiosOf(samples, name, "milliseconds") ?? []);
    const row = [name, figure(time.median), figure(time.p90), figure(ratio.median)];
    row.push(`${figure(ratio.low)}..${figure(ratio.high)}`, `${figure(ratio.p10)}..${figure(ratio.p90)}`);
    if (count === 1) return row;
    // Single operations are too short for the kernel's accounting.
    const cpu = summaryOf(taken.map((sample) => (sample.cpu / count) * 1000));
    const cpuRatio = summaryOf(ratiosOf(samples, name, "cpu") ?? []);
    return [...row, figure(cpu.median), figure(cpuRatio.median)];
  });
  const columns = ["N=5", "median ms", "p90 ms", `x ${baseline}`, "95 % sure", "p10..p90"];
  const passes = [...samples.values()][0]?.length ?? 0;
  const notes = [`${passes} pairs; x ${baseline}: the median of the ratios, pair by pair.`];
  if (count === 1) return { title, columns, rows, notes };
  return { title, columns: [...columns, "client CPU us", `x ${baseline}`], rows, notes };
}

function goalsOf(name: string, samples: Samples): Goal[] {
  const against = (base: string, goal: Pick<Goal, "name" | "limit" | "isJudged">): readonly Goal[] => {
    const ratios = ratiosOf(samples, ours, "milliseconds", base);
    return ratios ? [{ ...goal, measured: summaryOf(ratios).median, unit: `x ${base}` }] : [];
  };
  const controlRatio = ratiosOf(samples, control, "milliseconds");
  const off = `${name}: ${baseline} against itself is off by`;
  return [
    ...against(baseline, { name: `${name}: ours`, limit: 1.05, isJudged: true }),
    ...against("redlock", { name: `${name}: ours`, limit: 1 }),
    ...against(before, { name: `${name}: ours against before`, limit: 1 }),
    ...(controlRatio
      ? [{ name: off, measured: Math.abs(summaryOf(controlRatio).median - 1), limit: 0.03, unit: "" }]
      : []),
  ];
}
