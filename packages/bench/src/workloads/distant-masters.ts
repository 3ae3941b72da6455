import { type Proxy, startProxy } from "@quorlock/testbed";
import { alternate } from "../alternate.ts";
import { roundsOf } from "../compare-loads.ts";
import { baseline, Lineup, ours, peers } from "../lineup.ts";
import { runLoad } from "../load.ts";
import { type Column, type Measurement, measurementsOf, type Rounds, tableOf } from "../rounds.ts";
import { quantile } from "../statistics.ts";
import type { Table } from "../table.ts";
import type { Scale, Workload } from "../workload.ts";

const ttl = 10_000;

type Quantity = "p50" | "p99" | "cycle" | "failures";

const columns: readonly Column<Quantity>[] = [
  { quantity: "p50", title: "acquire p50 ms" },
  { quantity: "p99", title: "acquire p99 ms" },
  { quantity: "cycle", title: "with release ms" },
  { quantity: "failures", title: "failed" },
];

/** How many of the masters are so far away, ms there and back. */
interface Distance {
  readonly masters: number;
  readonly latency: number;
}

const distances: readonly Distance[] = [1, 5].flatMap((masters) =>
  [1, 10, 50].map((latency) => ({ masters, latency })),
);

/** A lock over masters that are far away, one of them or all. */
export const distantMasters: Workload = {
  name: "distant-masters",
  async run({ list }, scale) {
    const tables: Table[] = [];
    const measurements: Measurement[] = [];
    const proxies: Proxy[] = [];
    try {
      for (const master of list) proxies.push(await startProxy(master));
      for (const distance of distances) {
        const { masters, latency } = distance;
        const title = `${masters} of ${list.length} masters ${latency} ms away, one at a time`;
        const rounds = await playRounds(proxies, distance, scale);
        tables.push(tableOf(title, rounds, columns, baseline));
        measurements.push(...measurementsOf(title, rounds, columns));
      }
    } finally {
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    }
    return { tables, goals: [], measurements };
  },
};

/** All go through proxies, the near ones as well: what a proxy takes is the same for every master. */
async function playRounds(
  proxies: readonly Proxy[],
  { masters, latency }: Distance,
  scale: Scale,
): Promise<Rounds<Quantity>> {
  const urls = proxies.map(({ url }) => url);
  await using lineup = await Lineup.open([ours, baseline, ...peers], scale.contenders, { urls, ttl });
  // The requests wait for all of it, so that nothing is added to the way back.
  for (const proxy of proxies.slice(0, masters)) proxy.delay(latency, "requests");
  try {
    const load = { callers: 1, milliseconds: Math.max(scale.quick ? 100 : 300, 12 * latency), prefix: "distant" };
    const turns = await alternate(lineup.contenders, roundsOf(scale), async (contender) => {
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
  } finally {
    for (const proxy of proxies) proxy.delay(0);
  }
}
