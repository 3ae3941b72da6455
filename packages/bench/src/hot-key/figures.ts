import { jainIndex, quantile } from "../measure/statistics.ts";
import type { Grant, WorkerReport } from "./messages.ts";

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
  const clientCpu = reports.reduce((sum, report) => sum + report.clientCpu, 0);
  return {
    grants: counted.length,
    rate: counted.length / ((until - from) / 1000),
    p50: quantile(waits, 0.5),
    p99: quantile(waits, 0.99),
    jain: jainIndex(sharesOf(reports.length, workers, counted)),
    gapP50: quantile(gaps, 0.5),
    gapP99: quantile(gaps, 0.99),
    hold: holds.reduce((sum, hold) => sum + hold, 0) / holds.length,
    clientCpu: clientCpu / counted.length,
    overlaps: overlapsIn(all),
    failures: reports.reduce((sum, report) => sum + report.failures, 0),
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
