import type { Ballot } from "../protocol/ballot.ts";
import type { WaitEnd, WaitResult } from "./surroundings.ts";

/** Where refused calls wait: `Lines`, as far as a call uses them. */
export interface WaitingRoom {
  readonly clock: { callNow(): number };
  /** Whether an attempt would very likely be refused. Then the first vote is a queue entry. */
  isContended(resources: readonly string[]): boolean;
  onRefused(resources: readonly string[]): void;
  /** Waits until the lock is granted, or until `end`. `call`: the microsecond in which the call began. */
  wait(ballot: Ballot, end: WaitEnd, call: number): Promise<WaitResult>;
}
