import type { LockNode } from "./node.ts";

/**
 * One database on each master, until one of the clients is switched to another database (PROTOCOL 14.18). Every claim and
 * every lease belongs to the placement that it began in, and is sent through the nodes of that one alone. So nothing
 * that began before a switch can set, extend or delete a key in the database after it.
 */
export class Placement {
  /** The way to each master's database. Of one that was left it stands only for long enough to take back what is there. */
  nodes: readonly LockNode[];
  /** Set once a client was switched: from then on nothing of it counts. */
  whyLeft: string | undefined = undefined;

  constructor(nodes: readonly LockNode[]) {
    this.nodes = nodes;
  }

  /** `node` leads to another database from now on, and `old` to the one of this placement. */
  leave(why: string, node: LockNode, old: LockNode): void {
    this.whyLeft ??= why;
    this.nodes = this.nodes.map((other) => (other === node ? old : other));
  }
}

/** A lease, as far as its placement matters. */
interface Placed {
  readonly placement: Placement;
  lose(why: string): void;
}

/** The placement of one Redlock, and what ends when it is left. */
export class Placements {
  readonly #leases: ReadonlySet<Placed>;
  current: Placement;
  /** Claims and leases may still have these. */
  #left: readonly WeakRef<Placement>[] = [];
  readonly #listeners: Array<() => void> = [];
  /** Only kept: nodes call listeners that somebody has. */
  readonly followers: readonly unknown[];

  /** `leases`: those that stand. */
  constructor(nodes: readonly LockNode[], leases: ReadonlySet<Placed>) {
    this.#leases = leases;
    this.current = new Placement(nodes);
    this.followers = nodes.map((node) => {
      const follow = (why: string, old: LockNode): void => this.#leave(why, node, old);
      node.onMove?.(follow);
      return follow;
    });
  }

  /** Called when the current one was left, and every lease of it is lost. */
  onLeft(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** In the turn in which the client was switched: each holder is told before anything is sent to the other database. */
  #leave(why: string, node: LockNode, old: LockNode): void {
    const { nodes } = this.current;
    this.#left = [...this.#left, new WeakRef(this.current)].filter((kept) => kept.deref());
    this.current = new Placement(nodes);
    for (const kept of this.#left) kept.deref()?.leave(why, node, old);
    for (const lease of [...this.#leases]) if (lease.placement !== this.current) lease.lose(why);
    for (const listener of this.#listeners) listener();
  }
}
