import type { NodeError } from "../errors.ts";
import type { ActiveLease } from "../protocol/context.ts";
import { fault } from "../protocol/faults.ts";
import type { Fault, LockNode } from "../protocol/node.ts";
import { onReadyWhileKept } from "../protocol/weak-listeners.ts";

/** So many servers are remembered: each restart of a master is another one. */
const mostServers = 1000;

/** What names one server, and the master that is refused or counted for it. */
interface Sharing {
  readonly server: string;
  readonly counted: number;
}

/**
 * A server votes once (PROTOCOL 2.8). Two masters of one Redlock may be one server: the same URL twice, `localhost` and
 * `127.0.0.1`, two proxies, two databases, or a failover of one master into another. The servers are compared whenever a
 * connection is made. The master that has led to the server for longer votes; the other one is refused before anything is
 * sent to it, until one of them leads elsewhere.
 */
export class DistinctMasters {
  readonly #nodes: readonly LockNode[];
  readonly #report: (error: NodeError) => void;
  readonly #leases: Array<ReadonlySet<ActiveLease>>;
  /** Of each master, as of its latest connection. */
  readonly #servers: Array<readonly string[]>;
  readonly #refusals: Array<Fault | undefined>;
  /** The master that each server's vote was counted for last. */
  readonly #counted = new Map<string, number>();
  /** The messages that the user has been told, as long as they are true. */
  readonly #told = new Set<string>();

  /** `leases`: those that stand. `report` is called in a later turn. */
  constructor(
    nodes: readonly LockNode[],
    leases: ReadonlySet<ActiveLease>,
    report: (error: NodeError) => void,
  ) {
    this.#nodes = nodes;
    this.#report = report;
    this.#leases = [leases];
    this.#servers = nodes.map(() => []);
    this.#refusals = nodes.map(() => undefined);
    for (const [index, node] of nodes.entries()) {
      if (!node.server) continue;
      onReadyWhileKept(this, node, (self) => self.#connected(index));
      this.#connected(index);
    }
  }

  /** Leases of other primitives over the same masters. */
  includeLeases(leases: ReadonlySet<ActiveLease>): void {
    this.#leases.push(leases);
  }

  /** Whether the user has not been told yet: every attempt meets the refusal, the event tells the change. */
  isNews({ message }: NodeError): boolean {
    if (this.#told.has(message)) return false;
    this.#told.add(message);
    return true;
  }

  #connected(index: number): void {
    const servers = this.#nodes[index]!.server!.ids;
    const before = this.#servers[index]!;
    this.#servers[index] = servers;
    if (servers.length === 0 && before.length === 0) return;
    // Those that vote go first: a master that has come to their server does not take their place.
    const order = [...this.#nodes.keys()].sort((a, b) => this.#rank(a) - this.#rank(b));
    for (const other of order) this.#judge(other);
  }

  #rank(index: number): number {
    return this.#refusals[index] ? this.#nodes.length + index : index;
  }

  #judge(index: number): void {
    const sharing = this.#sharingOf(index);
    if (sharing) this.#refuse(index, sharing);
    else this.#count(index);
  }

  /** A server of this master whose vote counts for another one that leads to it as well. */
  #sharingOf(index: number): Sharing | undefined {
    for (const server of this.#servers[index]!) {
      const counted = this.#counted.get(server) ?? index;
      const isThere = this.#servers[counted]!.includes(server) && !this.#refusals[counted];
      if (counted !== index && isThere) return { server, counted };
    }
    return undefined;
  }

  #refuse(index: number, sharing: Sharing): void {
    const detail = this.#detailOf(index, sharing);
    const { name } = this.#nodes[index]!;
    const refusal = fault(name, "SAME_SERVER", detail, false);
    if (this.#refusals[index]?.error.message === refusal.error.message) return;
    this.#lift(index);
    this.#refusals[index] = refusal;
    this.#nodes[index]!.server!.refuseVotes(refusal);
    // Whoever has just made the Redlock listens first.
    void Promise.resolve().then(() => {
      if (this.#refusals[index] === refusal) this.#report(refusal.error);
    });
  }

  #count(index: number): void {
    for (const server of this.#servers[index]!) {
      const before = this.#counted.get(server) ?? index;
      this.#counted.delete(server);
      this.#counted.set(server, index);
      if (before !== index) this.#moveVotes(before, index);
    }
    for (const [server] of this.#counted) {
      if (this.#counted.size <= mostServers) break;
      this.#counted.delete(server);
    }
    this.#lift(index);
  }

  #lift(index: number): void {
    const refusal = this.#refusals[index];
    if (!refusal) return;
    this.#told.delete(refusal.error.message);
    this.#refusals[index] = undefined;
    this.#nodes[index]!.server!.refuseVotes(undefined);
  }

  /** What the server has voted for through `before` is not to count a second time, through `index` (PROTOCOL 2.10). */
  #moveVotes(before: number, index: number): void {
    for (const leases of this.#leases) for (const lease of leases) lease.voteMoves(before, index);
  }

  #detailOf(index: number, { server, counted }: Sharing): string {
    const other = `master ${counted} (${this.#nodes[counted]!.name})`;
    const both = `master ${index} (${this.#nodes[index]!.name}) and ${other} are one server`;
    const rule = "a server votes once, whatever its address or database, so this one is not asked";
    return `${both}, ${server}; ${rule}; give each master a server of its own`;
  }
}
