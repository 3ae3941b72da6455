import type { Redlock } from "@quorlock/redlock";
import type { Masters } from "@quorlock/testbed";
import { built } from "../contenders/built-package.ts";
import { closeClients, openClients } from "../contenders/clients.ts";
import { type Failure, inflict, repair, untouchable } from "../contenders/failure.ts";
import { summaryOf } from "../measure/statistics.ts";
import { within } from "../measure/within.ts";
import type { Goal } from "../report/goal.ts";
import { figure } from "../report/table.ts";
import type { Scale, Workload } from "../workload.ts";

const ttl = 2000;
/** What the package derives from this ttl, given outright so that the goal can be told from it. */
const nodeTimeout = 100;
const patience = 5000;

const failures: readonly Failure[] = [
  { name: "three of five refusing", kind: "refusing", count: 3 },
  { name: "three of five hung", kind: "hung", count: 3 },
];

const columns = ["", "attempts", "median ms", "p90 ms", "longest ms"];

/** A majority of masters is gone: how soon a caller that does not want to wait is told so. */
export const noQuorum: Workload = {
  name: "no-quorum",
  async run(masters, scale) {
    const title = `A majority of masters is gone: acquire with retryCount 0 rejects, nodeTimeout ${nodeTimeout} ms`;
    const notReadyReason = untouchable(masters);
    if (notReadyReason) return { tables: [{ title, columns, rows: [], notes: [notReadyReason] }], goals: [] };
    const rows: string[][] = [];
    const goals: Goal[] = [];
    for (const failure of failures) {
      const times = await rejections(failure, masters, scale);
      const { count, median, p90 } = summaryOf(times);
      const longest = Math.max(...times);
      rows.push([failure.name, `${count}`, figure(median), figure(p90), figure(longest)]);
      goals.push({
        name: `${failure.name}: rejected, longest`,
        measured: longest,
        limit: 2 * nodeTimeout,
        unit: "ms",
      });
    }
    return { tables: [{ title, columns, rows }], goals };
  },
};

async function rejections(failure: Failure, masters: Masters, scale: Scale): Promise<number[]> {
  const clients = await openClients(masters.urls);
  const redlock = new built.Redlock(clients, { nodeTimeout });
  try {
    // Everything is loaded and compiled before it counts.
    for (let index = 0; index < 20; index += 1) {
      const lock = await redlock.acquire("no-quorum:warm-up", ttl);
      await lock.release();
    }
    await inflict(failure, masters);
    const times: number[] = [];
    while (times.length < (scale.quick ? 5 : 25)) times.push(await timeToReject(redlock, times.length));
    return times;
  } finally {
    await repair(failure, masters);
    await redlock.quit();
    closeClients(clients);
  }
}

async function timeToReject(redlock: Redlock, index: number): Promise<number> {
  const begun = performance.now();
  try {
    const acquiring = redlock.acquire(`no-quorum:${index}`, ttl, { retryCount: 0 });
    await within(acquiring, patience, "acquire neither resolved nor rejected");
  } catch (error) {
    if (error instanceof built.ExecutionError) return performance.now() - begun;
    throw error;
  }
  throw new Error("a lock was granted without a quorum of masters");
}
