import type { Answer } from "./node.ts";

// Fencing tokens over independent masters (PROTOCOL 8). The largest of counters that each master increments by
// itself is not monotone: two leases may get the same number. So a lease *proposes* its token with its votes, and a
// master stores it in the same step, unless its counter is larger, and returns the previous counter.
//
// - If a quorum had smaller counters, the proposal is the token. Proposals are made from the clock, so this is the
//   usual case, and adds no round. Nothing relies on the clock: a proposal that is too small only costs a second
//   round.
// - Otherwise the token is one more than those counters, and a second round (`Ballot.fence`) stores it where the key is *still*
//   this lease's.
//
// Any two leases share a master, where the earlier one stored its token while it held the key. The later one received
// that token with its vote there, so its own token is larger.

/** The previous counters of the masters, by index; `undefined` where there is no fenced vote. */
export type Counters = ReadonlyArray<number | undefined>;

/**
 * The token of a lease that a quorum has voted for: the proposal, or a larger token that has to be stored; none
 * without a quorum. It is above the counters of a quorum: those with the smallest ones, as any quorum will do (PROTOCOL 8.4).
 */
export function tokenOf(proposal: number, counters: Counters, quorum: number): number | undefined {
  const known = counters.filter((counter) => counter !== undefined).sort((a, b) => a - b);
  const largest = known[quorum - 1];
  return largest === undefined ? undefined : Math.max(proposal, largest + 1);
}

/**
 * Whether an answer of the second round counts (PROTOCOL 8.3). If the token was not computed from the master's counter (`counter` is
 * missing, or not below it), the master may have a larger one: a later lease that receives that one must not get a
 * smaller token.
 */
export function isStored(token: number, counter: number | undefined, answer: Answer | undefined): boolean {
  if (answer?.is !== "yes" || answer.counter === undefined) return false;
  return (counter !== undefined && counter < token) || answer.counter < token;
}

/** The masters store no token above this: their floors are larger, and numbers are exact below 2^53. */
const largestProposal = 2 ** 53 - 2 ** 20 - 1;

/** The fencing tokens that this client proposes (PROTOCOL 8.1): larger than any token it has seen, and at least the clock. */
export class Proposals {
  #largest = 0;

  /** Records a token that a master returned: later proposals are larger. */
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
