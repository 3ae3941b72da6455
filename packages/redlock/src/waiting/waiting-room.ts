import type { Ballot } from "../protocol/ballot.ts";
import type { Lease } from "../protocol/lease.ts";
import type { Contention } from "../protocol/quorum.ts";
import type { Latch } from "../time/cancellation.ts";

/**
 * The result of waiting. Without a lease: the masters' latest answers, if any, or the error of the user's
 * backoff.
 */
export interface WaitResult {
  readonly lease?: Lease | undefined;
  readonly contention?: Contention | undefined;
  readonly error?: unknown;
}

/** The end of a call's wait. `dueAt`: when its time is over, by the monotonic clock. */
export interface WaitEnd {
  readonly ended: Latch;
  readonly dueAt: number;
}

/** Where refused calls wait: `Lines`, as far as a call uses them. */
export interface WaitingRoom {
  readonly clock: { callNow(): number };
  /** Whether an attempt would very likely be refused. Then the first vote is a queue entry. */
  isContended(resources: readonly string[]): boolean;
  onRefused(resources: readonly string[]): void;
  /** Waits until the lock is granted, or until `end`. `call`: the microsecond in which the call began. */
  wait(ballot: Ballot, end: WaitEnd, call: number): Promise<WaitResult>;
}
