import type { LockLostError, NodeError } from "../errors.ts";
import type { Admission } from "../load/admission.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Timers } from "../time/timers.ts";
import type { LockNode } from "./node.ts";
import type { Placement, Placements } from "./placement.ts";
import type { Rollbacks } from "./rollback.ts";

/** The user's handle on a lease. */
export interface Handle {
  /** Marks the handle as lost, for this reason. Returns the handles to report to the user. */
  lostWith(lost: LockLostError): readonly Handle[];
}

/** A lease that has not ended. */
export interface ActiveLease {
  readonly resources: readonly string[];
  readonly placement: Placement;
  /** Ends it, for this reason, and notifies its holder. */
  lose(why: string): void;
  /** The server that has voted through master `before` votes through `index` from now on (PROTOCOL 2.10). */
  voteMoves(before: number, index: number): void;
}

/** The fencing tokens that this client proposes (PROTOCOL 8.1). */
export interface FencingProposals {
  /** Returns the next proposal at this time, ms since the epoch. */
  at(time: number): number;
  /** Records a token that a master returned: later proposals are larger. */
  saw(token: number): void;
}

/** The state shared by all steps of the protocol: the masters, the time, the leases held and the pending deletes. */
export interface Context {
  readonly nodes: readonly LockNode[];
  /** The databases of the masters that hold the keys. */
  readonly placements: Placements;
  readonly quorum: number;
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  readonly timers: Timers;
  readonly rollbacks: Rollbacks;
  /** Limits the vote rounds in flight. */
  readonly admission: Admission;
  /** Whether waiters queue on the masters, and a release grants the lock to the next one (PROTOCOL 7). */
  readonly isQueued: boolean;
  /** Whether a nested call may enter the lease of its caller (PROTOCOL 10.6). */
  readonly isReentrant: boolean;
  /** Set if leases have fencing tokens (PROTOCOL 8). */
  readonly proposals: FencingProposals | undefined;
  /** The active leases, for `quit`. */
  readonly leases: Set<ActiveLease>;
  /** Reports a master's fault to the user. */
  readonly report: (error: NodeError) => void;
  /** Reports to the user that locks were lost before they were released. */
  readonly lost: (locks: readonly Handle[]) => void;
}
