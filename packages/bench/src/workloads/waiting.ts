import { ours } from "../contenders/lineup.ts";
import type { HoldingMessage, WaitingTask } from "../holding/messages.ts";
import { spreadOf } from "../measure/rounds.ts";
import { Child } from "../processes/child.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

/** Longer than all of it takes, ms. */
const ttl = 300_000;
const settleLimit = 120_000;

/** Each of those that stand alone asks again every second: of many more, most would be on their way at any moment. */
const kinds = [
  { isShared: true, name: "for one resource", usualCount: 10_000 },
  { isShared: false, name: "each for one of its own", usualCount: 2000 },
] as const;

/** What an `acquire` that waits takes in memory. */
export const waiting: Workload = {
  name: "waiting",
  async run({ urls }, scale) {
    const rows: string[][] = [];
    const goals: Goal[] = [];
    for (const { isShared, name, usualCount } of kinds) {
      const count = scale.cycles ?? (scale.quick ? usualCount / 10 : usualCount);
      const task: WaitingTask = {
        contender: ours,
        terms: { urls, ttl, waitTimeout: ttl },
        prefix: `waiting:${isShared}`,
        count,
        isShared,
      };
      const rounds: number[] = [];
      while (rounds.length < (scale.quick ? 1 : 5)) rounds.push(await bytesEach(task, rounds.length));
      const spread = spreadOf(rounds);
      rows.push([
        `${count.toLocaleString("en")}, ${name}`,
        figure(spread.median),
        `${figure(spread.low)}..${figure(spread.high)}`,
      ]);
      goals.push({
        name: `waiting, ${name}: heap of one`,
        measured: spread.median,
        spread,
        limit: 2000,
        unit: "bytes",
      });
    }
    return {
      tables: [
        {
          title: "Those who wait in one process",
          columns: ["", "bytes of heap each", "least..most"],
          rows,
          notes: [
            "The promise that the caller keeps is in it, an abort signal of the caller's would come on top.",
          ],
        },
      ],
      goals,
    };
  },
};

async function bytesEach(task: WaitingTask, round: number): Promise<number> {
  const fresh: WaitingTask = { ...task, prefix: `${task.prefix}:${round}` };
  await using child = Child.start<HoldingMessage>("holding/waiter", fresh);
  return (await child.message("settled", settleLimit)).bytesEach;
}
