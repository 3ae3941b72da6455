import type { ContenderTerms } from "../contenders/contender.ts";

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
  /** When everybody begins. */
  readonly begin: number;
  /** What counts happens from here, */
  readonly from: number;
  /** to here. */
  readonly until: number;
}

export interface Grant {
  readonly worker: number;
  /** When `acquire` was called, */
  readonly called: number;
  /** when it resolved, */
  readonly granted: number;
  /** and when `release` was called; `undefined` if the time was up before. */
  releasing: number | undefined;
}

export interface WorkerReport {
  readonly kind: "report";
  /** In the time that counts, microseconds. */
  readonly clientCpu: number;
  readonly grants: readonly Grant[];
  /** Since when those who wait at the end have waited. */
  readonly waiting: readonly number[];
  /** Acquires and releases that were rejected. */
  readonly failures: number;
}

export type WorkerMessage = WorkerReport | { readonly kind: "ready" };
