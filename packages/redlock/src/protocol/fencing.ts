import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { never, nodeDeadline } from "../time/validity.ts";
import { RoundClaim } from "./claim.ts";
import type { Context, FencingProposals } from "./context.ts";
import type { Answer } from "./node.ts";
import type { Tally } from "./quorum.ts";
import { decide, type Verdict } from "./quorum.ts";
import { Round } from "./round.ts";

// Fencing tokens over independent masters (PROTOCOL 8). The largest of counters that each master increments by
// itself is not monotone: two leases may get the same number. So a lease *proposes* its token with its votes, and a
// master stores it in the same step, unless its counter is larger, and returns the previous counter.
//
// - If a quorum had smaller counters, the proposal is the token. Proposals are made from the clock, so this is the
//   usual case, and adds no round. Nothing relies on the clock: a proposal that is too small only costs a second
//   round.
// - Otherwise the token is one more than those counters, and a second round stores it where the key is *still* this
//   lease's.
//
// Any two leases share a master, where the earlier one stored its token while it held the key. The later one received
// that token with its vote there, so its own token is larger.

/** The previous counters of the masters, by index; `undefined` where there is no fenced vote. */
export type Counters = ReadonlyArray<number | undefined>;

export function countersIn(tally: Tally): Counters {
  return tally.map((answer) => (answer?.vote === "yes" ? answer.counter : undefined));
}

/**
 * The token of a lease that a quorum has voted for: the proposal, or a larger token that has to be stored; none
 * without a quorum. It is above the counters of a quorum: those with the smallest ones, as any quorum will do.
 */
export function tokenOf(proposal: number, counters: Counters, quorum: number): number | undefined {
  const known = counters.filter((counter) => counter !== undefined).sort((a, b) => a - b);
  const largest = known[quorum - 1];
  return largest === undefined ? undefined : Math.max(proposal, largest + 1);
}

/**
 * Whether an answer of the second round counts. If the token was not computed from the master's counter (`counter` is
 * missing, or not below it), the master may have a larger one: a later lease that receives that one must not get a
 * smaller token.
 */
export function isStored(token: number, counter: number | undefined, answer: Answer | undefined): boolean {
  if (answer?.vote !== "yes" || answer.counter === undefined) return false;
  return (counter !== undefined && counter < token) || answer.counter < token;
}

/** The masters store no token above this: their floors are larger, and numbers are exact below 2^53. */
const largestProposal = 2 ** 53 - 2 ** 20 - 1;

/** The proposals of this client: larger than any token it has seen, and at least the clock. */
export class Proposals implements FencingProposals {
  #largest = 0;

  saw(token: number): void {
    this.#largest = Math.min(Math.max(this.#largest, token), largestProposal);
  }

  /** `time`: ms since the epoch; in microseconds it is far below 2^53, where numbers are exact. */
  at(time: number): number {
    const byClock = Math.floor(time * 1000);
    this.saw(byClock > this.#largest ? byClock : this.#largest + 1);
    return this.#largest;
  }
}

/**
 * A token further ahead of the proposal than this is not explained by clocks that differ: an hour, in microseconds.
 */
const farAhead = 3_600_000_000;

/** The counters that the masters returned with their votes. */
export interface ReceivedCounters {
  readonly counters: () => Counters;
  /** Resolves when no further master will answer. */
  readonly all: () => Promise<void>;
}

/**
 * Returns the token of the lease that `claim` has won, once a quorum has stored it; `undefined` if that fails. A
 * second round renews the keys as well, and with them `deadlines`. The caller checks the remaining time afterwards.
 *
 * A counter that is far ahead may be corrupt: then the other masters are awaited, of which a quorum may not know it.
 * Once stored, honest masters would return it from then on. Only a number that two masters have returned is
 * remembered.
 */
export async function fence(
  { quorum, runtime, clock, report, proposals }: Context,
  claim: RoundClaim,
  settings: Settings,
  received: ReceivedCounters,
  deadlines: number[],
  ended: Cancellation,
): Promise<number | undefined> {
  const { placement, resources, ttl, proposal } = claim;
  const { nodes } = placement;
  let token = tokenOf(proposal!, received.counters(), quorum);
  if (token !== undefined && token > proposal! + farAhead) {
    await ended.race(received.all());
    token = tokenOf(proposal!, received.counters(), quorum);
  }
  // The votes have stored the proposal; a larger token takes another round (PROTOCOL 8.2).
  if (token === undefined || token === proposal) return token;
  const madeOf = [...received.counters()];
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
    onAnswer: (index, answer) => {
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
