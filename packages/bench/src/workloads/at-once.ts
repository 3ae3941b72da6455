import {
  baseline,
  before,
  Lineup,
  ours,
  peers,
  pipelinedBaseline,
  pipelinedPeers,
} from "../contenders/lineup.ts";
import { bestOf, measurementsOf, type Rounds, ratioOf, tableOf, valuesOf } from "../measure/rounds.ts";
import { compareLoads, type LoadQuantity, loadColumns, loadNote } from "../report/compare-loads.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Findings, Scale, Workload } from "../workload.ts";

const ttl = 10_000;
const everyone = [ours, before, baseline, pipelinedBaseline, ...peers, ...pipelinedPeers];

/** Many callers of one process at once, each with a lock of its own: what gathering their commands is worth. */
export const atOnce64: Workload = {
  name: "64-at-once",
  inShort: true,
  async run({ urls }, scale) {
    return await findingsOf(64, urls, scale, (rounds) => {
      const bestPeer = bestOf(rounds, peers, "rate", "more");
      const bestPipelined = bestOf(rounds, pipelinedPeers, "rate", "more");
      const frugalPeer = bestOf(rounds, peers, "clientCpu", "less");
      return [
        ...rateGoal("64 at once: ours", rounds, bestPeer, 6),
        ...rateGoal("64 at once: ours", rounds, bestPipelined, 3),
        ...rateGoal("64 at once: ours", rounds, pipelinedBaseline, 2.5),
        ...rateGoal("64 at once: ours", rounds, before, 1),
        ...ratioGoal("64 at once: our client CPU", ratioOf(rounds, ours, frugalPeer, "clientCpu"), {
          limit: 1 / 6,
          unit: `x ${frugalPeer}`,
        }),
      ];
    });
  },
};

export const atOnce1024: Workload = {
  name: "1024-at-once",
  async run({ urls }, scale) {
    return await findingsOf(1024, urls, scale, (rounds) => {
      const failures = valuesOf(rounds, ours, "failures");
      const bestPeer = bestOf(rounds, peers, "rate", "more");
      return [
        ...rateGoal("1,024 at once: ours", rounds, bestPeer, 8),
        ...(failures.length > 0
          ? [{ name: "1,024 at once: our failures", measured: Math.max(...failures), limit: 0, unit: "" }]
          : []),
      ];
    });
  },
};

function rateGoal(
  name: string,
  rounds: Rounds<LoadQuantity>,
  base: string | undefined,
  limit: number,
): readonly Goal[] {
  return ratioGoal(name, ratioOf(rounds, ours, base, "rate"), { limit, isFloor: true, unit: `x ${base}` });
}

async function findingsOf(
  callers: number,
  urls: readonly string[],
  scale: Scale,
  goalsOf: (rounds: Rounds<LoadQuantity>) => readonly Goal[],
): Promise<Findings> {
  await using lineup = await Lineup.open(everyone, scale.contenders, { urls, ttl });
  const title = `${callers.toLocaleString("en")} at once, distinct keys, N=${urls.length}`;
  const rounds = await compareLoads(lineup, urls, scale, { callers, prefix: `at-once:${callers}` });
  return {
    tables: [tableOf(title, rounds, loadColumns, pipelinedBaseline, [loadNote])],
    goals: goalsOf(rounds),
    measurements: measurementsOf(title, rounds, loadColumns),
  };
}
