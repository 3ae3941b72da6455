import { setTimeout as pause } from "node:timers/promises";
import { now } from "@quorlock/simulation/processes";
import type { Contender, ContenderTerms } from "../contenders/contender.ts";
import { openContender, ringOfProcesses } from "../contenders/lineup.ts";
import { countSent } from "../measure/meter.ts";
import { nextMessage, sendToParent, task, untilShared } from "./child.ts";

// One process of a contest for a hot key. Its workers acquire the lock, hold it for a moment, release it and start again.
// It reports when the time is up and ends, also if workers still wait.

export interface WorkerTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  readonly resource: string;
  /** Callers in this process. */
  readonly workers: number;
  /** How long each keeps the lock, ms. */
  readonly hold: number;
}

/** All moments are on the clock that processes share. */
export interface WorkerStart {
  readonly kind: "start";
  /** When the workers start. */
  readonly begin: number;
  /** The measurement lasts from here */
  readonly from: number;
  /** to here. */
  readonly until: number;
}

export interface Grant {
  readonly worker: number;
  /** When `acquire` was called. */
  readonly called: number;
  /** When it resolved. */
  readonly granted: number;
  /** When `release` was called; `undefined` if the time was up before. */
  releasing: number | undefined;
}

export interface WorkerReport {
  readonly kind: "report";
  /** During the measurement, microseconds. */
  readonly clientCpu: number;
  /** Commands sent to masters during the measurement. */
  readonly requests: number;
  readonly grants: readonly Grant[];
  /** When each of the calls still waiting at the end was made. */
  readonly waiting: readonly number[];
  /** Acquires and releases that were rejected. */
  readonly failures: number;
}

export type WorkerMessage = WorkerReport | { readonly kind: "ready" };

const { contender: name, terms, resource, workers, hold } = task() as WorkerTask;
/**
 * Locks one after the other; contention is warmed up by the time before the measurement. A ring gives each process its
 * turn once: it begins with the contest.
 */
const warmUps = name === ringOfProcesses ? 0 : 50;

const contender = await openContender(name, terms);
for (let index = 0; index < warmUps; index += 1) {
  const release = await contender.acquire(`${resource}:warm-up:${process.pid}`);
  await release();
}
await sendToParent({ kind: "ready" });
const { begin, from, until } = (await nextMessage()) as WorkerStart;

const grants: Grant[] = [];
/** When each waiting worker called `acquire`. */
const waitingSince = new Map<number, number>();
let failures = 0;

async function work(contender: Contender, worker: number): Promise<void> {
  while (now() < until) {
    const called = now();
    waitingSince.set(worker, called);
    let release: Awaited<ReturnType<Contender["acquire"]>>;
    try {
      release = await contender.acquire(resource);
    } catch {
      failures += 1;
      continue;
    }
    const granted = now();
    waitingSince.delete(worker);
    const grant: Grant = { worker, called, granted, releasing: undefined };
    grants.push(grant);
    await pause(hold);
    grant.releasing = now();
    try {
      await release();
    } catch {
      failures += 1;
    }
  }
}

await pause(untilShared(begin));
for (let worker = 0; worker < workers; worker += 1) void work(contender, worker);
await pause(untilShared(from));
const sent = countSent();
const before = process.cpuUsage();
await pause(untilShared(until));
const { user, system } = process.cpuUsage(before);
const report: WorkerReport = {
  kind: "report",
  clientCpu: user + system,
  requests: sent.stop().commands,
  grants,
  waiting: [...waitingSince.values()],
  failures,
};
await sendToParent(report);
process.exit();
