/**
 * The kinds of violations:
 *
 * - `belief`: two clients observed that they hold the lock at one moment, each by its own `remaining()`.
 * - `effect`: a holder wrote after a later holder had written, though it had checked its lock just before.
 * - `margin`: by the keys on the masters and their clocks, others could win a quorum before the lock's deadline.
 * - `ownership`: a vote that still lived was changed or removed by another client.
 * - `twice`: a job was run again within the time for which the first client keeps it.
 * - `fencing`: a later lock on a resource had a fencing token that is not larger.
 * - `leftover`: all faults were over, every lock was released, and still a master kept a key; or a key lives longer than the
 *   ttl of the lock that its token was made for.
 * - `expired`: a lock was granted with no time left.
 * - `untold`: a lock expired, and its signal had not aborted.
 * - `unheard`: a majority had forgotten a hold at one time, and its holder was not told by its extensions.
 * - `needless`: a hold was lost although no majority can have forgotten it at one time.
 * - `unsettled`: a call did not settle within its own time-out.
 * - `forgotten`: all faults were over, and a lock was free for long while a client waited for it; or none was ever granted.
 * - `unfair`: there were no faults, and a waiter was overtaken again and again.
 * - `order`: a waiting call was served before one that had been called earlier.
 * - `stuck`: all faults were over, and still no client could lock.
 * - `unrenewed`: the masters had no memory left, and a holder could not keep the keys that it had.
 * - `invariant`: the user's invariant of the resource did not hold.
 * - `deadlock`: clients of a user's code wait for each other until a lease of theirs ends, or for long.
 * - `starvation`: one asks for a lock, and others that began later are served again and again.
 * - `clock`: a clock step was reported that did not happen, or not reported; or the master's votes still counted.
 * - `error`: a call rejected with an error that must not occur, or nothing caught an error, which ends the process.
 */
export type ViolationKind =
  | "belief"
  | "effect"
  | "margin"
  | "ownership"
  | "twice"
  | "fencing"
  | "leftover"
  | "expired"
  | "untold"
  | "unheard"
  | "needless"
  | "unsettled"
  | "forgotten"
  | "unfair"
  | "order"
  | "stuck"
  | "unrenewed"
  | "invariant"
  | "deadlock"
  | "starvation"
  | "clock"
  | "error";

export interface Violation {
  readonly kind: ViolationKind;
  /** True time, ms. */
  readonly at: number;
  readonly detail: string;
}

/** `unknown`: nothing was violated, and nothing was shown either: no lock was granted, for no reason that is known, or the run was cut short. */
export type Verdict = "ok" | "violated" | "unknown";

/** States that a good run of seeds must reach sometimes: a checker that never sees them proves nothing. */
export const allMarks = [
  "granted",
  "granted in the calm",
  "bare majority",
  "locked",
  "no quorum",
  "split vote",
  "late SET applied",
  "reply lost after SET",
  "unknown script",
  "extended",
  "extension failed",
  "lost",
  "expired at release",
  "partial release",
  "aborted",
  "frozen holder",
  "rival waited for expiry",
  "handed over",
  "push lost",
  "write refused",
  // It refuses writes, and this one comes behind another one of the same script.
  "write let through",
] as const;

/** The marks that only a client with detachable locks can reach. */
export const detachMarks = ["detached", "resumed"] as const;

/** Those that only a client that is switched to another database can reach. */
const databaseMarks = ["locked elsewhere"] as const;

/** Those that only callers with their own backoff functions can reach. */
const callerMarks = ["backoff failed"] as const;

/** Those that only a client with fencing tokens can reach. */
export const fencingMarks = ["fence rejected"] as const;

/** Those that only a client that watches the masters' clocks can reach. */
export const watchMarks = ["step told", "granted without who stepped"] as const;

export type Mark =
  | (typeof databaseMarks)[number]
  | (typeof callerMarks)[number]
  | (typeof allMarks)[number]
  | (typeof detachMarks)[number]
  | (typeof jobMarks)[number]
  | (typeof fencingMarks)[number]
  | (typeof watchMarks)[number];

/** Those that only a client with jobs can reach. */
export const jobMarks = ["kept", "run again later"] as const;

/** The violations and marks of a run so far. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly marks: Map<Mark, number> = new Map();
  /** Least time between the end of a hold and when others could have won a quorum, ms of true time. */
  leastMargin: number = Number.POSITIVE_INFINITY;
  /** Acquisitions and releases, attempted or done. */
  operations = 0;
  /** Locks asked for by the workload. */
  attempts = 0;
  readonly #now: () => number;
  readonly #isJudged: (kind: ViolationKind) => boolean;

  /** `isJudged`: what a run is to be held against. Default: everything. */
  constructor(now: () => number, isJudged: (kind: ViolationKind) => boolean = () => true) {
    this.#now = now;
    this.#isJudged = isJudged;
  }

  violated(kind: ViolationKind, detail: string): void {
    if (!this.#isJudged(kind)) return;
    this.violations.push({ kind, at: this.#now() / 1000, detail });
  }

  reached(mark: Mark): void {
    this.marks.set(mark, (this.marks.get(mark) ?? 0) + 1);
  }

  margin(ms: number): void {
    if (ms < this.leastMargin) this.leastMargin = ms;
  }

  get verdict(): Verdict {
    if (this.violations.length > 0) return "violated";
    return this.marks.has("granted") || this.marks.has("granted in the calm") ? "ok" : "unknown";
  }
}
