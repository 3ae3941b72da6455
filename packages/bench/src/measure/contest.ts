import { setTimeout as pause } from "node:timers/promises";
import type { ContenderTerms } from "../contenders/contender.ts";
import { Child, sharedNow, untilShared } from "../programs/child.ts";
import type { Grant, WorkerMessage, WorkerReport, WorkerStart, WorkerTask } from "../programs/worker.ts";
import { jainIndex, quantile } from "./statistics.ts";

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
  const children = Array.from({ length: processes }, () => Child.start<WorkerMessage>("worker", task));
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

/** What was seen of a contest for one lock, from `from` to `until`. */
export interface Contest {
  readonly from: number;
  readonly until: number;
  /** Workers in each process. */
  readonly workers: number;
  /** Of each process. */
  readonly reports: readonly WorkerReport[];
}

export type ContestQuantity =
  | "grants"
  | "rate"
  | "p50"
  | "p99"
  | "jain"
  | "gapP50"
  | "gapP99"
  | "hold"
  | "clientCpu"
  | "requests"
  | "overlaps"
  | "failures";

export type ContestFigures = Readonly<Record<ContestQuantity, number>>;

interface PlacedGrant extends Grant {
  readonly process: number;
}

export function figuresOf(contest: Contest): ContestFigures {
  const { from, until, reports, workers } = contest;
  const all = reports
    .flatMap(({ grants }, process) => grants.map((grant): PlacedGrant => ({ ...grant, process })))
    .toSorted((a, b) => a.granted - b.granted);
  const counted = all.filter(({ granted }) => granted >= from && granted < until);
  const waits = waitsOf(contest, counted);
  const gaps = gapsOf(counted).toSorted((a, b) => a - b);
  const holds = counted.flatMap(({ granted, releasing }) =>
    releasing === undefined ? [] : [releasing - granted],
  );
  const sumOf = (quantity: "clientCpu" | "requests" | "failures"): number =>
    reports.reduce((sum, report) => sum + report[quantity], 0);
  return {
    grants: counted.length,
    rate: counted.length / ((until - from) / 1000),
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    jain: jainIndex(sharesOf(reports.length, workers, counted)),
    gapP50: quantile(gaps, 0.5),
    gapP99: quantile(gaps, 0.99),
    hold: holds.reduce((sum, hold) => sum + hold, 0) / holds.length,
    clientCpu: sumOf("clientCpu") / counted.length,
    requests: sumOf("requests") / counted.length,
    overlaps: overlapsIn(all),
    failures: sumOf("failures"),
  };
}

/**
 * Whoever still waits at the end counts with what it has waited: otherwise the longest waits of all, those that never
 * came to an end, would be missing.
 */
function waitsOf({ until, reports }: Contest, counted: readonly PlacedGrant[]): readonly number[] {
  const over = counted.map(({ called, granted }) => granted - called);
  const standing = reports.flatMap(({ waiting }) => waiting.map((since) => until - since));
  return [...over, ...standing].sort((a, b) => a - b);
}

/** How many grants each worker of each process had. */
function sharesOf(processes: number, workers: number, counted: readonly PlacedGrant[]): readonly number[] {
  const shares = Array.from({ length: processes * workers }, () => 0);
  for (const { process, worker } of counted) shares[process * workers + worker]! += 1;
  return shares;
}

/** From each call of `release` to the next holder's `acquire` that resolves, in another process that waited already. */
function gapsOf(grants: readonly PlacedGrant[]): readonly number[] {
  return grants.slice(1).flatMap((next, index) => {
    const { process, releasing } = grants[index]!;
    if (releasing === undefined || next.process === process || next.called > releasing) return [];
    return [next.granted - releasing];
  });
}

/** Grants that came while the holder before believed to hold. */
function overlapsIn(grants: readonly PlacedGrant[]): number {
  let heldUntil = Number.NEGATIVE_INFINITY;
  let overlaps = 0;
  for (const { granted, releasing = Number.POSITIVE_INFINITY } of grants) {
    if (granted < heldUntil) overlaps += 1;
    heldUntil = Math.max(heldUntil, releasing);
  }
  return overlaps;
}
