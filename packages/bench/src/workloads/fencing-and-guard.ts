import { acquireAndRelease, type Contender } from "../contenders/contender.ts";
import { fenced, guarded, Lineup, ours } from "../contenders/lineup.ts";
import type { DistanceTask, Listening } from "../distance/messages.ts";
import { alternate } from "../measure/alternate.ts";
import { type Column, measurementsOf, ratioOf, tableOf } from "../measure/rounds.ts";
import { median } from "../measure/statistics.ts";
import { Child } from "../processes/child.ts";
import { roundsOf } from "../report/compare-loads.ts";
import { ratioGoal } from "../report/goal.ts";
import type { Findings, Scale, Workload } from "../workload.ts";

const ttl = 10_000;
/** What a lock may have besides. */
const extras = [fenced, guarded];
/** Pairs in a round. */
const pairs = 60;
const startLimit = 30_000;

type Quantity = "cycle";
const columns: readonly Column<Quantity>[] = [{ quantity: "cycle", title: "acquire+release ms" }];

/** One way to lock, and what it may cost beside the same without anything. */
interface Setting {
  readonly title: string;
  readonly urls: readonly string[];
  readonly lock: (contender: Contender) => Promise<unknown>;
  /** In multiples of ours without anything; none where that is only told. */
  readonly limit?: number;
}

const one: Setting["lock"] = (contender) => acquireAndRelease(contender, `extra:${contender.name}`);

/** Two resources: then the vote without anything is a script as well. */
async function two(contender: Contender): Promise<void> {
  const release = await contender.acquireAll([`extra:${contender.name}:a`, `extra:${contender.name}:b`]);
  await release();
}

/**
 * What fencing tokens and the restart guard cost, one lock at a time, nobody contending: nothing that a network would notice, since they
 * come with the votes, and on loopback what the script takes longer.
 */
export const fencingAndGuard: Workload = {
  name: "fencing-and-guard",
  async run({ list, urls }, scale) {
    const targets = list.map(({ host, port }) => ({ host, port }));
    const task: DistanceTask = { targets, distant: targets.length, latency: 1 };
    await using child = Child.start<Listening>("distance/proxies", task);
    const proxied = (await child.message("listening", startLimit)).urls;
    const settings: readonly Setting[] = [
      { title: "all masters 1 ms away", urls: proxied, lock: one, limit: 1.1 },
      { title: "on loopback, two resources: by script", urls, lock: two, limit: 1.35 },
      { title: "on loopback, one resource: beside the bare command", urls, lock: one },
    ];
    const findings: Required<Findings>[] = [];
    for (const setting of settings) findings.push(await measured(setting, scale));
    return {
      tables: findings.flatMap(({ tables }) => tables),
      goals: findings.flatMap(({ goals }) => goals),
      measurements: findings.flatMap(({ measurements }) => measurements),
    };
  },
};

async function measured({ title, lock, limit, urls }: Setting, scale: Scale): Promise<Required<Findings>> {
  await using lineup = await Lineup.open([ours, ...extras], scale.contenders, { urls, ttl });
  await alternate(lineup.contenders, scale.quick ? 50 : 200, lock);
  const rounds = new Map<string, Record<Quantity, number>[]>();
  for (let round = 0; round < roundsOf(scale); round += 1) {
    const times = await alternate(lineup.contenders, pairs, async (contender) => {
      const begun = performance.now();
      await lock(contender);
      return performance.now() - begun;
    });
    for (const [{ name }, taken] of times) {
      rounds.set(name, [...(rounds.get(name) ?? []), { cycle: median(taken) }]);
    }
  }
  const goals = extras.flatMap((name) =>
    limit === undefined
      ? []
      : ratioGoal(`${name}: ${title}`, ratioOf(rounds, name, ours, "cycle"), { limit, unit: `x ${ours}` }),
  );
  return {
    tables: [tableOf(`Extras, ${title}`, rounds, columns, ours, [`${pairs} of each in a round, in turn.`])],
    goals,
    measurements: measurementsOf(`Extras, ${title}`, rounds, columns),
  };
}
