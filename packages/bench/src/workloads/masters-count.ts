import { NoMastersError, startMasters } from "@quorlock/testbed";
import { baseline, Lineup, ours, peers } from "../contenders/lineup.ts";
import { type Measurement, measurementsOf, tableOf } from "../measure/rounds.ts";
import { compareLoads, loadColumns, loadNote } from "../report/compare-loads.ts";
import type { Table } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const ttl = 10_000;
const counts = [1, 3, 5, 7] as const;
const callers = 64;

/** What one more master costs. */
export const mastersCount: Workload = {
  name: "masters-count",
  async run(_, scale) {
    const tables: Table[] = [];
    const measurements: Measurement[] = [];
    try {
      await using masters = await startMasters(Math.max(...counts), { say: () => {} });
      for (const count of counts) {
        const urls = masters.urls.slice(0, count);
        await using lineup = await Lineup.open([ours, baseline, ...peers], scale.contenders, { urls, ttl });
        const title = `${callers} at once, N=${count}`;
        const rounds = await compareLoads(lineup, urls, scale, { callers, prefix: `masters-count:${count}` });
        tables.push(tableOf(title, rounds, loadColumns, baseline, [loadNote]));
        measurements.push(...measurementsOf(title, rounds, loadColumns));
      }
    } catch (error) {
      if (!(error instanceof NoMastersError)) throw error;
      const title = `${callers} at once, N=${counts.join(", ")}`;
      tables.push({ title, columns: [], rows: [], notes: [`not run: ${error.message}`] });
    }
    return { tables, goals: [], measurements };
  },
};
