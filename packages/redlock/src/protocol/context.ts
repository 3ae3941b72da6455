import type { LockLostError, NodeError } from "../errors.ts";
import type { Admission } from "../load/admission.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Timers } from "../time/timers.ts";
import type { LockNode } from "./node.ts";
import type { Placement, Placements } from "./placement.ts";
import type { Rollbacks } from "./rollback.ts";

/** What the taker of a lease has of it. */
export interface Handle {
  /** It was lost, for this reason. Returns the handles that the user is told of. */
  lostWith(lost: LockLostError): readonly Handle[];
}

/** A lease that has not ended. */
export interface StandingLease {
  readonly resources: readonly string[];
  readonly placement: Placement;
  /** Ends it, for this reason, and notifies its holder. */
  lose(why: string): void;
  /** The server that has voted through master `before` votes through `index` from now on (PROTOCOL 2.8). */
  voteMoves(before: number, index: number): void;
}

/** The fencing tokens that this client proposes (PROTOCOL 8). */
export interface FencingProposals {
  /** The next one, at this time, ms since the epoch. */
  at(time: number): number;
  /** A master has told this token: later proposals are larger. */
  saw(token: number): void;
}

/** What every step of the protocol works with: the masters, the time, and what this client holds or owes. */
export interface Context {
  readonly nodes: readonly LockNode[];
  /** In which databases of theirs the keys are. */
  readonly placements: Placements;
  readonly quorum: number;
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  readonly timers: Timers;
  readonly rollbacks: Rollbacks;
  /** Lets rounds of votes begin. */
  readonly admission: Admission;
  /** Whether those who wait stand in the masters' queues, and who gives up hands over (PROTOCOL 7). */
  readonly isQueued: boolean;
  /** Whether a call inside of a hold may enter it (PROTOCOL 10). */
  readonly isReentrant: boolean;
  /** Where holds have fencing tokens (PROTOCOL 8). */
  readonly proposals: FencingProposals | undefined;
  /** The holds that stand, for `quit`. */
  readonly leases: Set<StandingLease>;
  /** Tells the user of a master's fault. */
  readonly report: (error: NodeError) => void;
  /** Tells the user that locks were lost before they were released. */
  readonly lost: (locks: readonly Handle[]) => void;
}
