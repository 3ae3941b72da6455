import { baseline, Lineup, ours, peers } from "../contenders/lineup.ts";
import type { DistanceTask, Listening } from "../distance/messages.ts";
import { alternate } from "../measure/alternate.ts";
import { runLoad } from "../measure/load.ts";
import { type Column, type Measurement, measurementsOf, type Rounds, tableOf } from "../measure/rounds.ts";
import { quantile } from "../measure/statistics.ts";
import { Child } from "../processes/child.ts";
import { roundsOf } from "../report/compare-loads.ts";
import type { Table } from "../report/table.ts";
import type { Scale, Workload } from "../workload.ts";

const ttl = 10_000;

type Quantity = "p50" | "p99" | "cycle" | "failures";

const columns: readonly Column<Quantity>[] = [
  { quantity: "p50", title: "acquire p50 ms" },
  { quantity: "p99", title: "acquire p99 ms" },
  { quantity: "cycle", title: "with release ms" },
  { quantity: "failures", title: "failed" },
];

/** How many of the masters are far away, and how far: ms there and back. */
type Distance = Pick<DistanceTask, "distant" | "latency">;

const distances: readonly Distance[] = [1, 5].flatMap((distant) =>
  [1, 10, 50].map((latency) => ({ distant, latency })),
);
const startLimit = 30_000;

/** A lock over masters that are far away, one of them or all. */
export const distantMasters: Workload = {
  name: "distant-masters",
  async run({ list }, scale) {
    const tables: Table[] = [];
    const measurements: Measurement[] = [];
    const targets = list.map(({ host, port }) => ({ host, port }));
    for (const distance of distances) {
      const { distant, latency } = distance;
      // All go through proxies, the near ones as well: what a proxy takes is the same for every master.
      const task: DistanceTask = { targets, distant, latency };
      await using child = Child.start<Listening>("distance/proxies", task);
      const { urls } = await child.message("listening", startLimit);
      const title = `${distant} of ${list.length} masters ${latency} ms away, one at a time`;
      const rounds = await playRounds(urls, latency, scale);
      tables.push(tableOf(title, rounds, columns, baseline));
      measurements.push(...measurementsOf(title, rounds, columns));
    }
    return { tables, goals: [], measurements };
  },
};

async function playRounds(urls: readonly string[], latency: number, scale: Scale): Promise<Rounds<Quantity>> {
  await using lineup = await Lineup.open([ours, baseline, ...peers], scale.contenders, { urls, ttl });
  const milliseconds = Math.max(scale.quick ? 100 : 300, 12 * latency);
  const turns = await alternate(lineup.contenders, roundsOf(scale), async (contender) => {
    const load = { callers: 1, milliseconds, prefix: "distant-masters" };
    const { cycles, seconds, failures, waits } = await runLoad(contender, load);
    const sorted = waits.toSorted((a, b) => a - b);
    return {
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
      cycle: (1000 * seconds) / cycles,
      failures,
    };
  });
  return new Map([...turns].map(([{ name }, measured]) => [name, measured]));
}
