import type { Claim, QueueEntry } from "./node.ts";
import type { Asked } from "./operation.ts";
import type { Placement } from "./placement.ts";

/** The lease of a claim, as far as its votes need it. */
interface ClaimedLease {
  readonly hasEnded: boolean;
  /** Set once it was lost. */
  readonly lost: unknown;
  /** A master keeps its key until `deadline`. */
  renew(index: number, deadline: number): void;
}

/** A claim that is abandoned explicitly, or when its lease ends. */
export class RoundClaim implements Claim {
  readonly resources: readonly string[];
  readonly token: string;
  readonly ttl: number;
  /** The placement that the claim began in; it is sent through the nodes of this placement. */
  readonly placement: Placement;
  /** The lease that the claim has won or is to extend. */
  lease: ClaimedLease | undefined;
  /** The proposed fencing token, if fencing is on. */
  proposal: number | undefined;
  #givenUp = false;

  constructor(
    placement: Placement,
    resources: readonly string[],
    token: string,
    ttl: number,
    lease?: ClaimedLease,
  ) {
    this.placement = placement;
    this.resources = resources;
    this.token = token;
    this.ttl = ttl;
    this.lease = lease;
  }

  get abandoned(): boolean {
    if (this.#givenUp || this.placement.whyLeft !== undefined) return true;
    // `lost` reads the clocks, so it is right even if no timer has fired.
    return this.lease !== undefined && (this.lease.hasEnded || this.lease.lost !== undefined);
  }

  /** The request, the same for every master. */
  question(kind: "extend" | "repair" | "enqueue" | "transfer", ...previous: readonly string[]): Asked {
    const { resources: keys, token, ttl } = this;
    return { kind, keys, values: [token, ...previous], ttl, claim: this };
  }

  /** The same for a vote. `unless`: a key that must be free. */
  vote(unless: string | undefined): Asked {
    const { resources, token, ttl } = this;
    const isPlain = unless === undefined;
    const keys = isPlain ? resources : [...resources, unless];
    return { kind: isPlain ? "vote" : "voteUnless", keys, values: [token], ttl, claim: this };
  }

  /** Stops further sends: the caller has given up, or the time of the round is over. */
  giveUp(): void {
    this.#givenUp = true;
  }
}

/** A claim that stays in the queues of the masters that refuse it. */
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
