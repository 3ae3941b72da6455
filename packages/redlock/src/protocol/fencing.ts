import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { never, nodeDeadline } from "../time/validity.ts";
import { RoundClaim } from "./claim.ts";
import type { Context, FencingProposals } from "./context.ts";
import type { Answer } from "./node.ts";
import type { Tally } from "./quorum.ts";
import { decide, type Verdict } from "./quorum.ts";
import { Round } from "./round.ts";

// Fencing tokens over independent masters (PROTOCOL 8, 14.9). The largest of counters that each master counts up by
// itself is not monotone: two holds may come to the same number. So a hold *proposes* its token with its votes, and a
// master stores it in the same step, unless it has a larger one, and tells what it had before.
//
// - Where a quorum had less, the proposal is the token. It is made of the clock, so mostly that is so, and no round is
//   added. Nothing relies on the clock: a proposal that is too small only costs a second round.
// - Else the token is one more than what they had, and a second round stores it where the key is *still* this hold's.
//
// Two holds share a master, where the earlier one stored its token while the key was its own. The later one was told of
// it together with its vote there, so its token is larger.

/** What the masters had before, by their index; `undefined` where there is no fenced vote. */
export type Counters = ReadonlyArray<number | undefined>;

export function countersIn(tally: Tally): Counters {
  return tally.map((answer) => (answer?.vote === "yes" ? answer.counter : undefined));
}

/**
 * The token of a hold that a quorum has voted for, which is the proposal or has to be stored; none without a quorum. It is
 * above the counters of a quorum: those that have the smallest, as any quorum will do.
 */
export function tokenOf(proposal: number, counters: Counters, quorum: number): number | undefined {
  const known = counters.filter((counter) => counter !== undefined).sort((a, b) => a - b);
  const largest = known[quorum - 1];
  return largest === undefined ? undefined : Math.max(proposal, largest + 1);
}

/**
 * Whether an answer of the second round counts. Where the token was not made of what the master had (`counter` is
 * nothing, or not below it), it may have a larger one: a later hold that is told of that one must not come to a smaller
 * token.
 */
export function isStored(token: number, counter: number | undefined, answer: Answer | undefined): boolean {
  if (answer?.vote !== "yes" || answer.counter === undefined) return false;
  return (counter !== undefined && counter < token) || answer.counter < token;
}

/** The masters store no token above this: their floors are ahead of it, and numbers are exact below 2^53. */
const largestProposal = 2 ** 53 - 2 ** 20 - 1;

/** What this client proposes: more than it has seen, and where its clock tells more, that. */
export class Proposals implements FencingProposals {
  #largest = 0;

  saw(token: number): void {
    this.#largest = Math.min(Math.max(this.#largest, token), largestProposal);
  }

  /** `time`: ms since the epoch; in microseconds it is far below what is exact, 2^53. */
  at(time: number): number {
    const byClock = Math.floor(time * 1000);
    this.saw(byClock > this.#largest ? byClock : this.#largest + 1);
    return this.#largest;
  }
}

/** A token further ahead of the proposal than this is no matter of clocks that differ: an hour, in microseconds. */
const farAhead = 3_600_000_000;

/** What the masters have told with their votes. */
export interface Told {
  readonly counters: () => Counters;
  /** Settles when no other master will tell anything. */
  readonly all: () => Promise<void>;
}

/**
 * The token of the hold that `claim` has won, once a quorum has it stored; `undefined` where that fails. A second round
 * renews the keys as well, and with them `deadlines`. What is left of the hold has to be looked at afterwards.
 *
 * A counter that is far ahead may be nobody's: then it is waited for the others, of which a quorum may know nothing of it.
 * Stored, it would be told by honest masters from then on. Only a number that two masters have told is remembered.
 */
export async function fence(
  { quorum, runtime, clock, report, proposals }: Context,
  claim: RoundClaim,
  settings: Settings,
  told: Told,
  deadlines: number[],
  ended: Cancellation,
): Promise<number | undefined> {
  const { placement, resources, ttl, proposal } = claim;
  const { nodes } = placement;
  let token = tokenOf(proposal!, told.counters(), quorum);
  if (token !== undefined && token > proposal! + farAhead) {
    await ended.race(told.all());
    token = tokenOf(proposal!, told.counters(), quorum);
  }
  if (token === undefined || token === proposal) return token;
  const madeOf = [...told.counters()];
  const isVouchedFor = madeOf.filter((counter) => counter !== undefined).length > quorum;
  if (isVouchedFor || token <= proposal! + farAhead) proposals!.saw(token);
  const storing = new RoundClaim(placement, resources, claim.token, ttl);
  storing.proposal = token;
  const verdict = (answers: Tally): Verdict => {
    const stored = answers.filter((answer, index) => isStored(token, madeOf[index], answer)).length;
    return decide(nodes.length, stored, answers.filter(Boolean).length - stored);
  };
  const round: Round<Answer> = new Round<Answer>({
    nodes,
    runtime,
    clock,
    timeout: nodeTimeoutFor(ttl, settings),
    ask: storing.question("extend"),
    claim: storing,
    hear: (index, answer) => {
      if (answer.vote === "yes") deadlines[index] = nodeDeadline(round.sentAt, ttl, settings.driftFactor);
      else if (answer.vote === "no") deadlines[index] = never;
      else report(answer.error);
      return verdict(round.answers) !== "open";
    },
  });
  await round.decidedOr(ended);
  if (verdict(round.answers) === "won") return token;
  storing.giveUp();
  return undefined;
}
