import type { LockLostError, LossReason, NodeError, Owner } from "../errors.ts";
import type { Admission } from "../load/admission.ts";
import type { Latch } from "../time/cancellation.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Timers } from "../time/timers.ts";
import type { StateLog } from "../tracing/state-log.ts";
import type { HoldMessage } from "../tracing/tracing.ts";
import type { Proposals } from "./fencing.ts";
import type { LockNode } from "./node.ts";
import type { Placements } from "./placement.ts";
import type { Tally } from "./quorum.ts";
import type { Tokens } from "./token.ts";
import type { Votes } from "./votes.ts";

/** The user's handle on a lease. */
export interface Handle {
  /** Why it was lost. */
  readonly loss: LockLostError | undefined;
  /** Marks the handle as lost, for this reason. Returns the handles to report to the user. */
  lostWith(lost: LockLostError): readonly Handle[];
}

/** A lease that has not ended. */
export interface ActiveLease {
  readonly resources: readonly string[];
  readonly votes: Votes;
  readonly fencingToken: number | undefined;
  /** In lease time. */
  readonly grantedAt: number;
  /** Until its last key may expire, ms. */
  readonly keysLeft: number;
  /** Ends it, for this reason, and notifies its holder. */
  lose(why: string, reason: LossReason): void;
}

/** Keys to delete: those of a failed attempt, or of a released lock. */
export interface Leftover {
  readonly resources: readonly string[];
  readonly token: string;
  /** The ttl that the keys were last set with, ms: after that they have expired on the master. */
  readonly ttl: number;
  /** The masters, by their place, that no such key was ever asked of. Default: none. */
  readonly unasked?: readonly number[];
}

/** How often a server that has voted through one master has been found behind another one (PROTOCOL 2.10). */
export interface ServerMoves {
  count: number;
}

/** A delete that was sent to masters. */
export interface Deletion {
  readonly answers: Tally;
  /** Resolves when the answers can decide. */
  readonly decided: Promise<void>;
  /** Sends it; once only. */
  ask(): this;
}

/** Deletes keys: `Deletions`, as far as steps of the protocol use it. */
export interface Deleting {
  deletion(
    leftover: Leftover,
    nodes: readonly LockNode[],
    timeout: number,
    isDecided?: (answers: Tally) => boolean,
  ): Deletion;
}

/** The names of owners: `Owners`, as far as waiting uses it. */
export interface OwnerNames {
  /** The Redlock of this context. */
  readonly self: Owner;
  /** Writes its record from now on. */
  begin(): void;
  /** The keys of this lease stay, although it has ended here. */
  keep(lease: ActiveLease): void;
  /** The owner with this tag, as the first master that knows it says; `undefined` if none does within `timeout` ms. */
  ownerOf(tag: string, timeout: number, ended: Latch): Promise<Owner | undefined>;
}

/** The state shared by all steps of the protocol: the masters, the time, the leases held and the pending deletes. */
export interface Context {
  readonly nodes: readonly LockNode[];
  /** The databases that the clients are in. */
  readonly placements: Placements;
  readonly quorum: number;
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  readonly timers: Timers;
  readonly tokens: Tokens;
  readonly deletions: Deleting;
  readonly admission: Admission;
  /** Whether waiters queue on the masters, and a release grants the lock to the next one (PROTOCOL 7). */
  readonly isQueued: boolean;
  /** Whether a master is a Redis Cluster: all keys of a lock have to be in one hash slot. */
  readonly hasCluster: boolean;
  /** Whether a nested call may enter the lease of its caller (PROTOCOL 10.6). */
  readonly isReentrant: boolean;
  /** Set if leases have fencing tokens (PROTOCOL 8). */
  readonly proposals: Proposals | undefined;
  /** `undefined` with `owner: false`: nothing is written or read. */
  readonly owners: OwnerNames | undefined;
  /** The active leases. */
  readonly leases: Set<ActiveLease>;
  readonly serverMoves: ServerMoves;
  /** The resources whose keys were reported to be no locks. */
  readonly foreign: Set<string>;
  /** Reports a master's fault to the user. */
  readonly report: (error: NodeError) => void;
  /** Set with a `logger`: told of each answer. */
  readonly log?: StateLog | undefined;
  /** The messages of the leases whose hold is traced. */
  readonly holds: WeakMap<object, HoldMessage>;
  /** Reports to the user that locks were lost before they were released. */
  readonly lost: (locks: readonly Handle[]) => void;
}
