import { observedOurs, ours } from "../contenders/lineup.ts";
import { compareCrowds } from "../measure/crowd.ts";
import { loadColumns, loadNote } from "../measure/load.ts";
import { measurementsOf, ratioOf, tableOf } from "../measure/rounds.ts";
import { type Goal, ratioGoal } from "../report/goal.ts";
import type { Workload } from "../workload.ts";

const callers = 64;
/** At most a quarter more for each lock. */
const most = 1.25;

/** Our client while OpenTelemetry records its metrics and spans, each in its own process, relative to the same client unobserved. */
export const observed: Workload = {
  name: "observed",
  isApart: true,
  async run({ urls }, scale) {
    const title = `With OpenTelemetry, ${callers} at once`;
    const names = [ours, ...observedOurs];
    const rounds = await compareCrowds(names, { urls, ttl: 10_000 }, { callers, inCompany: false }, scale);
    const goals = observedOurs.flatMap((name): readonly Goal[] => [
      ...ratioGoal(`${title}: ${name}`, ratioOf(rounds, name, ours, "rate"), {
        limit: 1 / most,
        isFloor: true,
        unit: `x ${ours}`,
      }),
      ...ratioGoal(`${title}: client CPU of ${name}`, ratioOf(rounds, name, ours, "clientCpu"), {
        limit: most,
        unit: `x ${ours}`,
      }),
    ]);
    return {
      tables: [tableOf(title, rounds, loadColumns, ours, [loadNote])],
      goals,
      measurements: measurementsOf(title, rounds, loadColumns),
    };
  },
};
