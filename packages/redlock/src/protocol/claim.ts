import type { Lease } from "./lease.ts";
import type { Claim, QueueEntry } from "./node.ts";
import type { Placement } from "./placement.ts";
import type { Asked } from "./round.ts";

/** A claim that is given up by hand, or with the lease that it is for. */
export class RoundClaim implements Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /** Where it was begun, and whose nodes it is sent through. */
  readonly placement: Placement;
  /** The hold that the claim has won, or is to extend. */
  lease: Lease | undefined;
  /** The fencing token that it proposes, where there are any. */
  proposal: number | undefined;
  #givenUp = false;

  constructor(placement: Placement, resources: readonly string[], token: string, ttl: number, lease?: Lease) {
    this.placement = placement;
    this.resources = resources;
    this.token = token;
    this.ttl = ttl;
    this.lease = lease;
  }

  get abandoned(): boolean {
    if (this.#givenUp || this.placement.whyLeft !== undefined) return true;
    // `lost` reads the clocks: no timer needs to have fired.
    return this.lease !== undefined && (this.lease.hasEnded || this.lease.lost !== undefined);
  }

  /** What every master is asked alike. */
  question(kind: "vote" | "extend" | "repair"): Asked {
    return { kind, keys: this.resources, words: [this.token], ttl: this.ttl, claim: this };
  }

  /** What was not sent by now is not sent any more: the caller has given up, or the round's time is over. */
  giveUp(): void {
    this.#givenUp = true;
  }
}

/** A claim that keeps its place where it is refused. */
export class QueueEntryClaim extends RoundClaim implements QueueEntry {
  readonly ticket: number;
  readonly entryTtl: number;

  constructor(
    placement: Placement,
    resources: readonly string[],
    token: string,
    ttl: number,
    ticket: number,
    entryTtl: number,
  ) {
    super(placement, resources, token, ttl);
    this.ticket = ticket;
    this.entryTtl = entryTtl;
  }
}
