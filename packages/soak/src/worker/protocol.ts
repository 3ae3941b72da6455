import type { DetachedLock } from "@quorlock/redlock";
import type { Hold, Write } from "../history/history.ts";

/** The calls that the conductor offers its workers: the store, and the reports. */
export interface ConductorSide {
  /** Names the lock, so that a holder that dies later was reported. */
  read(hold: Hold): number;
  /** Does it, unless the store's clock says that `deadline` is over. */
  write(write: Draft, deadline: number | undefined): boolean;
  /** The hold is over, or about to be released. */
  ended(hold: Hold): void;
  /** Has another worker go on with a lock. */
  handOn(detached: Detached): void;
  /** The call that came closest to its limit so far, or went furthest beyond it. */
  took(call: TimedCall): void;
  /**
   * A master was reported as unreachable, `times` times since the previous report; `why` is the first message. `stoodStill`:
   * the longest time for which this process did not run shortly before, ms.
   */
  unreachable(master: number, times: number, why: string, stoodStill: number): void;
  /** A lease that was kept extended is lost, in a process that ran when it was due to be extended. */
  leaseLost(why: string): void;
  /** A lease was lost by a process that did not run when it was due to be extended. */
  leaseMissed(): void;
  /** An error that is an answer: who is contended for or cut off hears such. */
  refused(code: string): void;
  /** Something that should never happen, {@link unhandledRejection} for one. */
  failed(what: string): void;
}

/** A detached lock: the worker that resumes it becomes its holder. */
export interface Detached {
  readonly key: string;
  readonly lock: DetachedLock;
}

/** The prefix of the report of an unhandled rejection. */
export const unhandledRejection = "unhandled rejection";

/** A write before the store has seen it. */
export type Draft = Omit<Write, "at" | "accepted">;

export interface TimedCall {
  readonly name: string;
  /** Beyond its documented limit, ms, less what its process stood still; negative is within it. */
  readonly beyond: number;
  readonly stoodStill: number;
}

/** The calls that a worker offers the conductor. */
export interface WorkerSide {
  /** Connects and begins. Resolves when its connections stand. */
  start(assignment: Assignment): Promise<void>;
  /** Makes the next holder linger; resolves with its lock, or with null if there is no holder in time. */
  linger(request: LingerRequest): Promise<string | null>;
  /** Goes on with what another worker has detached. */
  resume(detached: Detached): void;
  /** This master wants a password from now on, or none. */
  password(master: number, password: string | undefined): void;
  /** The user's client leaves its connection to this master. Resolves when it has another one. */
  reconnect(master: number): Promise<void>;
  /** Why this master does not vote for what this worker asks within `limit` ms; `undefined` if it does. */
  whyNotReached(master: number, limit: number): Promise<string | undefined>;
  /** After a garbage collection. */
  measure(): Memory;
  /** Ends what is under way, and its Redlock. Resolves to the longest time for which the process did not run meanwhile, ms. */
  leave(): Promise<number>;
}

export interface Assignment {
  readonly name: string;
  readonly urls: readonly string[];
  /** The masters of the Cluster, which are one voter together. */
  readonly cluster: readonly string[];
  readonly seed: number;
  /** Holds this number of leases to the end, and does nothing else. */
  readonly leases: number;
}

export interface LingerRequest {
  /** Ends earlier when the holder's signal aborts. */
  readonly milliseconds: number;
  /** On the hot key, where others wait. */
  readonly hot: boolean;
  /** Writes without looking whether the lock is still there. */
  readonly careless: boolean;
}

export interface Memory {
  readonly rss: number;
  readonly heap: number;
}
