import type { NodeError } from "../errors.ts";
import type { Admission } from "../load/admission.ts";
import type { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import type { Schedule } from "../time/timers.ts";
import type { Proposals } from "./fencing.ts";
import type { Handle, Lease } from "./lease.ts";
import type { LockNode } from "./node.ts";
import type { Placements } from "./placement.ts";
import type { CleanUps } from "./rollback.ts";

/** What every step of the protocol works with: the masters, the time, and what this client holds or owes. */
export interface Coordinator {
  readonly nodes: readonly LockNode[];
  /** In which databases of theirs the keys are. */
  readonly placements: Placements;
  readonly quorum: number;
  readonly runtime: Runtime;
  readonly clock: LeaseClock;
  readonly schedule: Schedule;
  readonly cleanUps: CleanUps;
  /** Lets rounds of votes begin. */
  readonly admission: Admission;
  /** Whether those who wait stand in the masters' queues, and who gives up hands over (PROTOCOL 7). */
  readonly isQueued: boolean;
  /** Whether a call inside of a hold may enter it (PROTOCOL 10). */
  readonly isReentrant: boolean;
  /** Where holds have fencing tokens (PROTOCOL 8). */
  readonly proposals: Proposals | undefined;
  /** The holds that stand, for `quit`. */
  readonly leases: Set<Lease>;
  /** Tells the user of a master's fault. */
  readonly report: (error: NodeError) => void;
  /** Tells the user that locks were lost before they were released. */
  readonly lost: (locks: readonly Handle[]) => void;
}
