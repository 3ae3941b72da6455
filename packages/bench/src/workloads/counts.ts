import { baseline, before, ours, peers, pipelinedBaseline, pipelinedPeers } from "../contenders/lineup.ts";
import { startProgram } from "../programs/child.ts";
import type { Counts, CountsTask } from "../programs/counts.ts";
import type { Goal } from "../report/goal.ts";
import { figure, type Table } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const ttl = 10_000;
const limit = 60_000;
const columns = ["", "promises", "timers", "kB allocated", "commands", "bytes sent"];

/** Counts what one acquire and release allocates and sends. Unlike times, counts compare across machines. */
export const counts: Workload = {
  name: "counts",
  inShort: true,
  async run({ urls }, scale) {
    const tables: Table[] = [];
    const goals: Goal[] = [];
    const everyone = [ours, before, baseline, pipelinedBaseline, ...peers, ...pipelinedPeers];
    const few = [ours, before, baseline];
    for (const callers of [1, 64]) {
      const rows: string[][] = [];
      const notes = [
        "Medians, of promises and timers the least, each in its own process, without what the benchmark's own calls make.",
      ];
      for (const contender of (scale.quick ? few : everyone).filter((name) =>
        scale.contenders.includes(name),
      )) {
        const task: CountsTask = { contender, terms: { urls, ttl }, callers, quick: scale.quick };
        await using child = startProgram<Counts>("counts", task);
        const counted = await child.message("counts", limit);
        const { promises, timers, kilobytes, commands, bytes } = counted;
        rows.push([
          contender,
          ...[promises, timers, kilobytes, commands, bytes].map((value) => figure(value)),
        ]);
        if (contender !== ours || callers > 1) continue;
        goals.push(...goalsOf(counted));
      }
      const where = callers === 1 ? "one at a time" : `${callers} at once`;
      tables.push({
        title: `Counts of one acquire and release, ${where}, N=${urls.length}`,
        columns,
        rows,
        notes,
      });
    }
    return { tables, goals };
  },
};

function goalsOf({ promises, timers, kilobytes }: Counts): Goal[] {
  return [
    { name: "a cycle: promises", measured: promises, limit: 25, unit: "" },
    { name: "a cycle: timers", measured: timers, limit: 2, unit: "" },
    { name: "a cycle: allocated", measured: kilobytes, limit: 40, unit: "kB" },
  ];
}
