import type { DetachedLock } from "@quorlock/redlock";
import type { Hold, Write } from "../history/history.ts";

/** What the conductor offers its workers: the store, and an ear. */
export interface ConductorSide {
  /** Says who asks, so that a holder that dies later was heard of. */
  read(hold: Hold): number;
  /** Does it, unless the store's clock says that `deadline` is over. */
  write(write: Draft, deadline: number | undefined): boolean;
  /** The hold is over, or about to be released. */
  ended(hold: Hold): void;
  /** Has another worker go on with a lock. */
  handOn(detached: Detached): void;
  /** The call that came closest to its limit so far, or went furthest beyond it. */
  took(call: TimedCall): void;
  /** A master was said to be unreachable, so many times since it was told last; `why` at first. */
  unreachable(master: number, times: number, why: string): void;
  /** A lease that was kept extended is lost. */
  leaseLost(why: string): void;
  /** An error that is an answer: who is contended for or cut off hears such. */
  refused(code: string): void;
  /** Something that should never happen, {@link unhandledRejection} for one. */
  failed(what: string): void;
}

/** A lock that nobody holds for the moment: whoever resumes it does. */
export interface Detached {
  readonly key: string;
  readonly lock: DetachedLock;
}

/** How the account of a rejection begins that nobody has handled. */
export const unhandledRejection = "unhandled rejection";

/** A write before the store has seen it. */
export type Draft = Omit<Write, "at" | "accepted">;

export interface TimedCall {
  readonly name: string;
  /** Beyond its documented limit, ms, less what its process stood still; negative is within it. */
  readonly beyond: number;
  readonly stoodStill: number;
}

/** What a worker offers the conductor. */
export interface WorkerSide {
  /** Connects and begins. Resolves when its connections stand. */
  start(assignment: Assignment): Promise<void>;
  /** Has the next holder stay; resolves with its hold when it does, with null where nobody came by in time. */
  linger(wish: LingerWish): Promise<string | null>;
  /** Goes on with what another worker has detached. */
  resume(detached: Detached): void;
  /** This master wants a password from now on, or none. */
  password(master: number, password: string | undefined): void;
  /** Whether this master votes for what this worker asks, within `limit` ms. */
  reaches(master: number, limit: number): Promise<boolean>;
  /** After a garbage collection. */
  measure(): Memory;
  /** Ends what is under way, and its Redlock. */
  leave(): Promise<void>;
}

export interface Assignment {
  readonly name: string;
  readonly urls: readonly string[];
  /** The masters of the Cluster, which are one voter together. */
  readonly cluster: readonly string[];
  readonly seed: number;
  /** Holds so many leases to the end, and does nothing else. */
  readonly leases: number;
}

export interface LingerWish {
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
