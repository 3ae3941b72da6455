import type { LossReason } from "../errors.ts";
import type { LockNode } from "./node.ts";

/**
 * One database on each master, until one of the clients is switched to another database (PROTOCOL 2.15). Every claim
 * and every lease belongs to the placement that it began in, and ends with it.
 */
export class Placement {
  /** Set once a client was switched: from then on no claim in this placement is sent, and no vote in it counts. */
  whyLeft: string | undefined = undefined;
}

/** The part of a lease that concerns its placement. */
interface Placed {
  readonly votes: { readonly placement: Placement };
  lose(why: string, reason: LossReason): void;
}

/** The placement of one Redlock. Leaving it ends the leases in it. */
export class Placements {
  readonly #leases: ReadonlySet<Placed>;
  current: Placement = new Placement();
  readonly #listeners: Array<() => void> = [];
  /** Kept here: nodes hold it weakly. */
  readonly follower: (why: string) => void;

  /** `leases`: the active ones. */
  constructor(nodes: readonly LockNode[], leases: ReadonlySet<Placed>) {
    this.#leases = leases;
    this.follower = (why) => this.#leave(why);
    for (const node of nodes) node.onMove?.(this.follower);
  }

  /** Calls `listener` after the current placement was left and every lease in it was lost. */
  onLeft(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Runs in the turn in which the server has accepted the switch: each holder is notified before anything is sent to
   * the other database.
   */
  #leave(why: string): void {
    this.current.whyLeft = why;
    this.current = new Placement();
    for (const lease of [...this.#leases])
      if (lease.votes.placement !== this.current) lease.lose(why, "DATABASE");
    for (const listener of this.#listeners) listener();
  }
}
