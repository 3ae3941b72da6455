import type { NodeError } from "../errors.ts";
import type { ActiveLease, ServerMoves } from "../protocol/context.ts";
import { fault, unsent } from "../protocol/faults.ts";
import type { Fault, LockNode } from "../protocol/node.ts";
import { onReadyWhileKept } from "../protocol/weak-listeners.ts";

/** The maximum number of servers that are remembered: each restart of a master adds one. */
const maxServers = 1000;

/** A server, and the master that its vote is counted for. */
interface SharedServer {
  readonly server: string;
  readonly countedFor: number;
}

/**
 * Each server votes once (PROTOCOL 2.8). Two masters of one Redlock may be the same server: the same URL
 * twice, `localhost` and `127.0.0.1`, two proxies, two databases, or a failover of one master into another.
 * The servers are compared whenever a connection is made. The master that has been connected to the server
 * for longer votes. The other one is refused before anything is sent to it, until one of them is connected to
 * another server.
 */
export class DistinctMasters {
  readonly #nodes: readonly LockNode[];
  readonly #report: (error: NodeError) => void;
  readonly #leases: ReadonlySet<ActiveLease>;
  readonly #moves: ServerMoves;
  /** The servers of each master, as of its latest connection. */
  readonly #servers: Array<readonly string[]>;
  readonly #refusals: Array<Fault | undefined>;
  /** The master that each server's vote was last counted for. */
  readonly #countedFor = new Map<string, number>();
  /** The messages that were reported and still apply. */
  readonly #reported = new Set<string>();

  /** `leases`: the held leases; others see by `moves` that the votes they have do not count. `report` is called in a later turn. */
  constructor(
    nodes: readonly LockNode[],
    leases: ReadonlySet<ActiveLease>,
    moves: ServerMoves,
    report: (error: NodeError) => void,
  ) {
    this.#nodes = nodes;
    this.#report = report;
    this.#leases = leases;
    this.#moves = moves;
    this.#servers = nodes.map(() => []);
    this.#refusals = nodes.map(() => undefined);
    for (const [index, node] of nodes.entries()) {
      if (!node.server) continue;
      onReadyWhileKept(this, node, (self) => self.#onReady(index));
      this.#onConnected(index);
    }
  }

  /**
   * Whether this error was not reported before: every attempt gets the refusal, the event reports the change.
   */
  isNew({ message }: NodeError): boolean {
    if (this.#reported.has(message)) return false;
    this.#reported.add(message);
    return true;
  }

  #onReady(index: number): void {
    this.#onConnected(index);
    if (this.#servers[index]!.length > 0) return;
    const detail =
      "INFO tells no run_id, or enableReadyCheck: false forbids it, so its server is compared with no other, nor with that of its client";
    this.#report(fault(this.#nodes[index]!.name, "SAME_SERVER", detail, true).error);
  }

  #onConnected(index: number): void {
    const servers = this.#nodes[index]!.server!.ids;
    const before = this.#servers[index]!;
    this.#servers[index] = servers;
    if (servers.length === 0 && before.length === 0) return;
    // Voting masters come first: a master that moves to their server does not replace them.
    const order = [...this.#nodes.keys()].sort((a, b) => this.#rank(a) - this.#rank(b));
    for (const other of order) this.#judge(other);
  }

  #rank(index: number): number {
    return this.#refusals[index] ? this.#nodes.length + index : index;
  }

  #judge(index: number): void {
    const sharing = this.#sharedServerOf(index);
    if (sharing) this.#refuse(index, sharing);
    else this.#count(index);
  }

  /** A server of this master whose vote counts for another master connected to it. */
  #sharedServerOf(index: number): SharedServer | undefined {
    for (const server of this.#servers[index]!) {
      const countedFor = this.#countedFor.get(server) ?? index;
      const isThere = this.#servers[countedFor]!.includes(server) && !this.#refusals[countedFor];
      if (countedFor !== index && isThere) return { server, countedFor };
    }
    return undefined;
  }

  #refuse(index: number, sharing: SharedServer): void {
    const detail = this.#detailOf(index, sharing);
    const { name } = this.#nodes[index]!;
    const refusal = fault(name, "SAME_SERVER", detail, false);
    if (this.#refusals[index]?.error.message === refusal.error.message) return;
    this.#liftRefusal(index);
    this.#refusals[index] = refusal;
    this.#nodes[index]!.server!.refuseVotes(refusal);
    // In a later turn: the creator of the Redlock adds its listeners first.
    void Promise.resolve().then(() => {
      if (this.#refusals[index] === refusal) this.#report(refusal.error);
    });
  }

  #count(index: number): void {
    for (const server of this.#servers[index]!) {
      const before = this.#countedFor.get(server) ?? index;
      this.#countedFor.delete(server);
      this.#countedFor.set(server, index);
      if (before !== index) this.#moveVotes(before, index);
    }
    for (const [server] of this.#countedFor) {
      if (this.#countedFor.size <= maxServers) break;
      this.#countedFor.delete(server);
    }
    this.#liftRefusal(index);
  }

  #liftRefusal(index: number): void {
    const refusal = this.#refusals[index];
    if (!refusal) return;
    this.#reported.delete(refusal.error.message);
    this.#refusals[index] = undefined;
    this.#nodes[index]!.server!.refuseVotes(undefined);
  }

  /** The votes of the server through `before` must not count again through `index` (PROTOCOL 2.10). */
  #moveVotes(before: number, index: number): void {
    for (const lease of this.#leases) lease.votes.move(before, index);
    this.#moves.count += 1;
    // Nor in a round that is open, in which a claim may wait for this connection.
    const { name, server } = this.#nodes[index]!;
    server!.refuseVotes(unsent(name, `its server has voted as master ${before}`));
    server!.refuseVotes(undefined);
  }

  #detailOf(index: number, { server, countedFor }: SharedServer): string {
    const other = `master ${countedFor} (${this.#nodes[countedFor]!.name})`;
    const both = `master ${index} (${this.#nodes[index]!.name}) and ${other} are one server`;
    const rule = "a server votes once, whatever its address or database, so this one is not asked";
    return `${both}, ${server}; ${rule}; give each master a server of its own`;
  }
}
