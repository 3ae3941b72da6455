import { Lineup, onIovalkey, onNodeRedis, ours } from "../contenders/lineup.ts";
import { compareLoads, type LoadQuantity, loadColumns, loadNote, timeOf, warmUp } from "../measure/load.ts";
import { type Column, measurementsOf, type Rounds, ratioOf, tableOf } from "../measure/rounds.ts";
import { alternate } from "../measure/statistics.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Findings, Scale, Workload } from "../workload.ts";

const ttl = 10_000;
const names = [ours, onNodeRedis, onIovalkey];
const callers = 64;
const timeColumn: Column<"time"> = { quantity: "time", title: "ms" };

/** Our client on each client library, relative to the one on ioredis. */
export const clientLibraries: Workload = {
  name: "clients",
  async run({ urls }, scale) {
    const parts = [await oneAtATime(urls, scale), await atOnce(urls, scale)];
    return {
      tables: parts.flatMap(({ tables }) => tables),
      goals: parts.flatMap(({ goals }) => goals),
      measurements: parts.flatMap(({ measurements }) => measurements),
    };
  },
};

async function oneAtATime(urls: readonly string[], scale: Scale): Promise<Required<Findings>> {
  const title = "Client libraries, one at a time";
  await using lineup = await Lineup.open(names, scale.contenders, { urls, ttl });
  await warmUp(lineup.contenders, 1, scale);
  const turns = scale.cycles ?? (scale.quick ? 500 : 3000);
  const taken = await alternate(lineup.contenders, turns, async (contender) => ({
    time: await timeOf(contender, `clients:${contender.name}`, 1),
  }));
  const rounds: Rounds<"time"> = new Map([...taken].map(([{ name }, values]) => [name, values]));
  const goals = names.slice(1).flatMap((name): readonly Goal[] =>
    ratioGoal(`${title}: ${name}`, ratioOf(rounds, name, ours, "time"), {
      limit: 1,
      unit: `x ${ours}`,
      isJudged: false,
    }),
  );
  return { tables: [tableOf(title, rounds, [timeColumn], ours)], goals, measurements: [] };
}

async function atOnce(urls: readonly string[], scale: Scale): Promise<Required<Findings>> {
  const title = `Client libraries, ${callers} at once`;
  await using lineup = await Lineup.open(names, scale.contenders, { urls, ttl });
  const rounds: Rounds<LoadQuantity> = await compareLoads(lineup, urls, scale, {
    callers,
    prefix: "clients",
  });
  const goals = names.slice(1).flatMap((name): readonly Goal[] =>
    ratioGoal(`${title}: ${name}`, ratioOf(rounds, name, ours, "rate"), {
      limit: 1,
      isFloor: true,
      unit: `x ${ours}`,
      isJudged: false,
    }),
  );
  return {
    tables: [tableOf(title, rounds, loadColumns, ours, [loadNote])],
    goals,
    measurements: measurementsOf(title, rounds, loadColumns),
  };
}
