import { onIovalkey, onNodeRedis, ours } from "../contenders/lineup.ts";
import { compareCrowds } from "../measure/crowd.ts";
import { loadColumns, loadNote } from "../measure/load.ts";
import { measurementsOf, type Rounds, ratioOf, tableOf } from "../measure/rounds.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Workload } from "../workload.ts";
import { playPairs, timeColumn } from "./one-at-a-time.ts";

const names = [ours, onNodeRedis, onIovalkey];
const callers = 64;

/** Our client on each client library, relative to the one on ioredis. */
export const clientLibraries: Workload = {
  name: "clients",
  async run({ urls }, scale) {
    const [alone, crowd] = ["one at a time", `${callers} at once`].map(
      (how) => `Client libraries, ${how}`,
    ) as [string, string];
    const turns = scale.cycles ?? (scale.quick ? 500 : 3000);
    const times = await playPairs({ urls, names, inARow: 1, turns }, urls, scale);
    const terms = { urls, ttl: 10_000 };
    const loads = await compareCrowds(names, terms, { callers, inCompany: false }, scale);
    return {
      tables: [
        tableOf(alone, times, [timeColumn], ours),
        tableOf(crowd, loads, loadColumns, ours, [loadNote]),
      ],
      goals: [...goalsOf(alone, times, "time", false), ...goalsOf(crowd, loads, "rate", true)],
      measurements: measurementsOf(crowd, loads, loadColumns),
    };
  },
};

function goalsOf<Q extends string>(
  title: string,
  rounds: Rounds<Q>,
  quantity: Q,
  isFloor: boolean,
): readonly Goal[] {
  return names.slice(1).flatMap((name) =>
    ratioGoal(`${title}: ${name}`, ratioOf(rounds, name, ours, quantity), {
      limit: 1,
      isFloor,
      unit: `x ${ours}`,
      isJudged: false,
    }),
  );
}
