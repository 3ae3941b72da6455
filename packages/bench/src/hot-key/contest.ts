import { setTimeout as pause } from "node:timers/promises";
import type { ContenderTerms } from "../contenders/contender.ts";
import { sharedNow, untilShared } from "../measure/shared-clock.ts";
import { Child } from "../processes/child.ts";
import type { Contest } from "./figures.ts";
import type { WorkerMessage, WorkerStart, WorkerTask } from "./messages.ts";

/** Who wants the lock, and for how long. */
export interface Setting {
  readonly processes: number;
  /** In each process. */
  readonly workers: number;
  /** ms */
  readonly hold: number;
}

export interface Schedule {
  /** Everybody contends for so long before it counts, ms, */
  readonly warmUp: number;
  /** and so long while it counts. */
  readonly window: number;
}

/** What processes may take to start, all together, and to report, ms. */
const startLimit = 120_000;
const reportLimit = 30_000;
/** From the order to start until everybody starts, ms: all must have heard it. */
const notice = 200;
/** How long `acquire` goes on, ms: longer than any contest. */
const waitTimeout = 60_000;

/** Does something while the time that counts passes, and says what it came to. */
export type Watch = (window: () => Promise<void>) => Promise<number>;

/**
 * Lets fresh processes contend for one lock. Each contest has processes of its own, so that none inherits a stall.
 */
export async function runContest(
  contender: string,
  terms: ContenderTerms,
  setting: Setting,
  schedule: Schedule,
  watch: Watch,
): Promise<{ readonly contest: Contest; readonly watched: number }> {
  const { processes, workers, hold } = setting;
  const resource = `hot-key:${contender}:${Math.round(sharedNow())}`;
  const task: WorkerTask = { contender, terms: { ...terms, waitTimeout }, resource, workers, hold };
  const children = Array.from({ length: processes }, () =>
    Child.start<WorkerMessage>("hot-key/worker", task),
  );
  try {
    await Promise.all(children.map((child) => child.message("ready", startLimit)));
    const begin = sharedNow() + notice;
    const from = begin + schedule.warmUp;
    const until = from + schedule.window;
    const start: WorkerStart = { kind: "start", begin, from, until };
    for (const child of children) child.send(start);
    await pause(untilShared(from));
    const watched = await watch(() => pause(untilShared(until)));
    const reports = await Promise.all(children.map((child) => child.message("report", reportLimit)));
    return { contest: { from, until, workers, reports }, watched };
  } finally {
    await Promise.all(children.map((child) => child[Symbol.asyncDispose]()));
  }
}
