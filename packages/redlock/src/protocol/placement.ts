import type { LossReason } from "../errors.ts";
import type { LockNode } from "./node.ts";

/**
 * One database on each master, until one of the clients is switched to another database (PROTOCOL 2.15). Every claim
 * and every lease belongs to the placement that it began in, and is sent only through the nodes of that placement. So
 * nothing that began before a switch can set, extend or delete a key in the database after it.
 */
export class Placement {
  /**
   * The nodes that lead to the databases. In a placement that was left they work only long enough to delete the keys
   * there.
   */
  nodes: readonly LockNode[];
  /** Set once a client was switched: from then on no vote in this placement counts. */
  whyLeft: string | undefined = undefined;

  constructor(nodes: readonly LockNode[]) {
    this.nodes = nodes;
  }

  /**
   * Marks the placement as left: `node` leads to another database from now on, and `old` to the one of this
   * placement.
   */
  leave(why: string, node: LockNode, old: LockNode): void {
    this.whyLeft ??= why;
    this.nodes = this.nodes.map((other) => (other === node ? old : other));
  }
}

/** The part of a lease that concerns its placement. */
interface Placed {
  readonly placement: Placement;
  lose(why: string, reason: LossReason): void;
}

/** The placement of one Redlock. Leaving it ends the leases in it. */
export class Placements {
  readonly #leases: ReadonlySet<Placed>;
  current: Placement;
  /** Earlier placements, which claims and leases may still refer to. */
  #left: readonly WeakRef<Placement>[] = [];
  readonly #listeners: Array<() => void> = [];
  /** References that keep the listeners alive: nodes hold them weakly. */
  readonly followers: readonly unknown[];

  /** `leases`: the active ones. */
  constructor(nodes: readonly LockNode[], leases: ReadonlySet<Placed>) {
    this.#leases = leases;
    this.current = new Placement(nodes);
    this.followers = nodes.map((node) => {
      const follow = (why: string, old: LockNode): void => this.#leave(why, node, old);
      node.onMove?.(follow);
      return follow;
    });
  }

  /** Calls `listener` after the current placement was left and every lease in it was lost. */
  onLeft(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /**
   * Runs in the turn in which the server has accepted the switch: each holder is notified before anything is sent to
   * the other database.
   */
  #leave(why: string, node: LockNode, old: LockNode): void {
    const { nodes } = this.current;
    this.#left = [...this.#left, new WeakRef(this.current)].filter((kept) => kept.deref());
    this.current = new Placement(nodes);
    for (const kept of this.#left) kept.deref()?.leave(why, node, old);
    for (const lease of [...this.#leases]) if (lease.placement !== this.current) lease.lose(why, "DATABASE");
    for (const listener of this.#listeners) listener();
  }
}
