import type { Findings } from "../history/check.ts";
import { isLate } from "../history/notice.ts";
import type { Mode } from "../plan/plan.ts";
import type { TimedCall } from "../worker/protocol.ts";

/** The summary of a run. Times in ms, memory in MiB. */
export interface Report {
  readonly mode: Mode;
  readonly seed: number;
  readonly seconds: number;
  readonly grants: number;
  readonly hotGrants: number;
  readonly writes: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Accepted writes that are not in the numbers of the store. */
  readonly lost: number;
  readonly lostUpdates: number;
  readonly overlapsOfHolders: number;
  readonly overlapsOfEffect: number;
  readonly outOfOrder: number;
  /** Writes after one of a later hold: what a fencing token rejects. */
  readonly stale: number;
  readonly notified: {
    readonly count: number;
    readonly late: number;
    /** Minimum time from the notification to the moment at which another client could have been granted the lock. */
    readonly leastMargin: number | undefined;
    /** Minimum time from the notification to the next grant. */
    readonly leastUntilNext: number | undefined;
  };
  /** Leases that were lost while their process did not run: no defect, and told. */
  readonly missedLeases: number;
  readonly refusals: Readonly<Record<string, number>>;
  readonly furthestCalls: readonly TimedCall[];
  readonly memoryGrowth: { readonly heap: number; readonly rss: number } | undefined;
  /** Of the lost updates in the unsafe mode: by which fault they were preceded. */
  readonly lostAfter: Readonly<Record<string, number>>;
  readonly unhandledRejections: number;
  /** These, processes that ended, calls that failed as none should, keys that stayed locked. */
  readonly failures: readonly string[];
}

/** Beyond its limit, net of what its process stood still, a call is late by this at most: the machine is busy, ms. */
const maxBeyond = 500;

/** The promises that a safe run broke; empty if there are none. */
export function violationsOf(report: Report): string[] {
  const slowest = report.furthestCalls[0];
  const claims: ReadonlyArray<readonly [boolean, string]> = [
    [report.lost === 0 && report.lostUpdates === 0, "updates were lost"],
    [report.overlapsOfHolders === 0, "two held at once"],
    [report.overlapsOfEffect === 0, "two wrote at once"],
    [report.outOfOrder === 0 && report.stale === 0, "a write came out of order"],
    [report.notified.late === 0, "a holder was notified too late"],
    [!slowest || slowest.beyond < maxBeyond, "a call took too long"],
    [report.failures.length === 0, "something failed"],
  ];
  return claims.flatMap(([holds, what]) => (holds ? [] : [what]));
}

/** Whether an unsafe run has shown a violation. */
export function hasShown(report: Report): boolean {
  return report.lostUpdates + report.overlapsOfHolders + report.overlapsOfEffect > 0;
}

/** The counts of what a checker has found. */
export function countsOf(
  findings: Findings,
): Pick<
  Report,
  "lostUpdates" | "overlapsOfHolders" | "overlapsOfEffect" | "outOfOrder" | "stale" | "notified"
> {
  const { notices } = findings;
  return {
    lostUpdates: findings.lostUpdates.length,
    overlapsOfHolders: findings.overlapsOfHolders.length,
    overlapsOfEffect: findings.overlapsOfEffect.length,
    outOfOrder: findings.outOfOrder.length,
    stale: findings.stale.length,
    notified: {
      count: notices.length,
      late: notices.filter(isLate).length,
      leastMargin: leastOf(notices.map(({ margin }) => margin)),
      leastUntilNext: leastOf(notices.flatMap(({ untilNext }) => untilNext ?? [])),
    },
  };
}

function leastOf(values: readonly number[]): number | undefined {
  return values.length > 0 ? Math.min(...values) : undefined;
}
