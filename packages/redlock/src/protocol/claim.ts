import type { Claim, Entry, Question, Verb } from "./node.ts";
import { questionOf } from "./question.ts";
import { type Asking, Round, type RoundPlan } from "./round.ts";
import type { Votes } from "./votes.ts";

/** The lease of a claim: why it has ended, by the clocks. */
type ClaimedLease = { readonly whyEnded: string | undefined };

/** A question about votes, which is abandoned explicitly, or when the lease of the votes ends. */
export class RoundClaim implements Claim {
  readonly votes: Votes;
  readonly ttl: number;
  /** The lease that the claim has won or is to extend. */
  lease: ClaimedLease | undefined;
  /** The proposed fencing token, if fencing is on. */
  proposal: number | undefined;
  /** The send of its round, in lease time: grants count from it, also when the round is no longer kept. */
  sentAt: number = Number.NEGATIVE_INFINITY;
  #givenUp = false;

  constructor(votes: Votes, ttl: number, lease?: ClaimedLease) {
    this.votes = votes;
    this.ttl = ttl;
    this.lease = lease;
  }

  /** Also once the placement that it began in is left (PROTOCOL 2.15). */
  get abandoned(): boolean {
    return this.#givenUp || this.votes.placement.whyLeft !== undefined || this.lease?.whyEnded !== undefined;
  }

  /** `unless`: for `voteUnless`, a key that must be free. */
  question(verb: Verb, entry?: Entry, unless?: string): Question {
    const { ttl, proposal } = this;
    const { resources, token } = this.votes;
    const keys = unless === undefined ? resources : [...resources, unless];
    return questionOf({ verb, keys, words: [token], ttl, proposal, entry, claim: this });
  }

  /**
   * Asks it in a round: for votes, queue entries, extensions. The caller sends it directly afterwards (PROTOCOL 2.4).
   */
  round(asking: Asking, verb: Verb, plan: RoundPlan, entry?: Entry, unless?: string): Round {
    return new Round(asking, this.question(verb, entry, unless), plan, this);
  }

  /** Stops further sends: the caller has given up, or the time of the round is over. */
  giveUp(): void {
    this.#givenUp = true;
  }
}
