import { setTimeout as pause } from "node:timers/promises";
import { now } from "@quorlock/simulation/processes";
import type { ContenderTerms } from "../contenders/contender.ts";
import { startProgram, untilShared } from "../programs/child.ts";
import type { Grant, WorkerMessage, WorkerReport, WorkerStart, WorkerTask } from "../programs/worker.ts";
import { jainIndex, quantile } from "./statistics.ts";

/** The competing processes and workers, and how long each holds the lock. */
export interface Setting {
  readonly processes: number;
  /** In each process. */
  readonly workers: number;
  /** ms */
  readonly hold: number;
}

export interface Schedule {
  /** Duration of contention before the measurement starts, ms. */
  readonly warmUp: number;
  /** Duration of the measurement, ms. */
  readonly window: number;
}

/** Time limits for all processes to start, and for each to report, ms. */
const startLimit = 120_000;
const reportLimit = 30_000;
/** From sending the start message until the workers start, ms: every process has received it by then. */
const notice = 200;
/** How long `acquire` retries, ms: longer than any contest. */
const waitTimeout = 60_000;

/** Takes another measurement during the window, and resolves with its value. */
export type Watch = (window: () => Promise<void>) => Promise<number>;

/**
 * Lets new processes contend for one lock. Each contest starts its own processes, so a stall in one does not affect the
 * next.
 */
export async function runContest(
  contender: string,
  terms: ContenderTerms,
  setting: Setting,
  schedule: Schedule,
  watch: Watch,
): Promise<{ readonly contest: Contest; readonly watched: number }> {
  const { processes, workers, hold } = setting;
  const resource = `hot-key:${contender}:${Math.round(now())}`;
  const children = Array.from({ length: processes }, (_, place) => {
    const ring = { place, size: processes, channel: resource };
    const task: WorkerTask = { contender, terms: { ...terms, waitTimeout, ring }, resource, workers, hold };
    return startProgram<WorkerMessage>("worker", task);
  });
  try {
    await Promise.all(children.map((child) => child.message("ready", startLimit)));
    const begin = now() + notice;
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

/** The reports of a contest for one lock; the measurement lasts from `from` to `until`. */
export interface Contest {
  readonly from: number;
  readonly until: number;
  /** Workers in each process. */
  readonly workers: number;
  /** One for each process. */
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
  const gaps = gapsOf(counted, reports.length > 1).toSorted((a, b) => a - b);
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
 * The waits of all grants, and those still open at the end with their duration so far: without these the longest waits
 * would be missing.
 */
function waitsOf({ until, reports }: Contest, counted: readonly PlacedGrant[]): readonly number[] {
  const over = counted.map(({ called, granted }) => granted - called);
  const standing = reports.flatMap(({ waiting }) => waiting.map((since) => until - since));
  return [...over, ...standing].sort((a, b) => a - b);
}

/** The number of grants of each worker of each process. */
function sharesOf(processes: number, workers: number, counted: readonly PlacedGrant[]): readonly number[] {
  const shares = Array.from({ length: processes * workers }, () => 0);
  for (const { process, worker } of counted) shares[process * workers + worker]! += 1;
  return shares;
}

/** From each call of `release` to the next grant, if that was already waiting, and in another process if there are several. */
function gapsOf(grants: readonly PlacedGrant[], hasOthers: boolean): readonly number[] {
  return grants.slice(1).flatMap((next, index) => {
    const { process, releasing } = grants[index]!;
    if (releasing === undefined || next.called > releasing) return [];
    if (hasOthers && next.process === process) return [];
    return [next.granted - releasing];
  });
}

/** Counts the grants made while the previous holder had not called `release` yet. */
function overlapsIn(grants: readonly PlacedGrant[]): number {
  let heldUntil = Number.NEGATIVE_INFINITY;
  let overlaps = 0;
  for (const { granted, releasing = Number.POSITIVE_INFINITY } of grants) {
    if (granted < heldUntil) overlaps += 1;
    heldUntil = Math.max(heldUntil, releasing);
  }
  return overlaps;
}
