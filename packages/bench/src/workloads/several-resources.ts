import { baseline, Lineup, ours, peers } from "../contenders/lineup.ts";
import { type Measurement, measurementsOf, tableOf } from "../measure/rounds.ts";
import { compareLoads, loadColumns, loadNote } from "../report/compare-loads.ts";
import type { Table } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const ttl = 10_000;
const resourcesEach = 3;
const crowds = [1, 64] as const;

/** Several resources under one lock. */
export const severalResources: Workload = {
  name: "three-resources",
  async run({ urls }, scale) {
    const tables: Table[] = [];
    const measurements: Measurement[] = [];
    for (const callers of crowds) {
      await using lineup = await Lineup.open([ours, baseline, ...peers], scale.contenders, { urls, ttl });
      const title = `${resourcesEach} resources a lock, ${callers === 1 ? "one" : callers} at a time, N=${urls.length}`;
      const load = { callers, resourcesEach, prefix: `several-resources:${callers}` };
      const rounds = await compareLoads(lineup, urls, scale, load);
      const note =
        "redis-semaphore and redlock-universal lock one key at a time: three locks, one after the other.";
      tables.push(tableOf(title, rounds, loadColumns, baseline, [loadNote, note]));
      measurements.push(...measurementsOf(title, rounds, loadColumns));
    }
    return { tables, goals: [], measurements };
  },
};
