import type { NodeError } from "../errors.ts";
import type { Runtime } from "../time/runtime.ts";

/**
 * Two quarantines that end within this time of each other count as one, ms: a busy network may add that much
 * to a reading.
 */
const tolerance = 500;

/**
 * Selects the `QUARANTINE` faults of one master to report: the first of each quarantine. Every vote gets that
 * fault until the end of the quarantine; the attempts contain them all, and the event reports only the
 * change.
 */
export class QuarantineReports {
  readonly #runtime: Pick<Runtime, "monotonic">;
  readonly #maxTtl: number;
  /** The end of the quarantine reported last, by the monotonic clock. */
  #reportedEnd = Number.NEGATIVE_INFINITY;

  constructor(runtime: Pick<Runtime, "monotonic">, maxTtl: number) {
    this.#runtime = runtime;
    this.#maxTtl = maxTtl;
  }

  isNew({ message }: NodeError): boolean {
    const now = this.#runtime.monotonic();
    const reportedEnd = this.#reportedEnd;
    // The fault of a repaired key does not contain the time.
    const left = /for (\d+) ms more/.exec(message)?.[1];
    const end = now + (left === undefined ? this.#maxTtl : Number(left));
    // The masters' clocks may run at another rate, and a quarantine is reported once until it is over.
    const isFresh =
      left === undefined ? now >= reportedEnd : end > reportedEnd + tolerance + this.#maxTtl / 100;
    if (isFresh) this.#reportedEnd = end;
    return isFresh;
  }
}
