import type { RedlockError } from "../errors.ts";
import type { Cancellation, Latch } from "../time/cancellation.ts";
import { Ballot } from "./ballot.ts";
import type { Context } from "./context.ts";
import type { Attempts } from "./execution-stats.ts";
import type { Lease } from "./lease.ts";
import type { Answer } from "./node.ts";
import { contentionIn, type Tally, verdictOf } from "./quorum.ts";
import type { LockRequest } from "./request.ts";
import type { Round } from "./round.ts";

/** The lease of an acquire, or the error if there is none. */
export type AcquireResult =
  | { readonly lease: Lease; readonly attempts: Attempts }
  | { readonly lease?: undefined; readonly contended: boolean; readonly error: RedlockError };

export interface PlainVote {
  readonly ballot: Ballot;
  readonly round: Round;
  /**
   * `granted`: the ballot has a lease. `late`: a quorum said yes, and no more validity is left than required, or its fencing
   * token was not stored. `cancelled`: by the caller. `moved`: a client was switched to another database meanwhile. The
   * others are distinguished by {@link contentionIn}.
   */
  readonly outcome: "granted" | "late" | "cancelled" | "locked" | "split" | "unavailable" | "moved";
  /** Resolves when the masters have rolled the votes back, or the time for that is over. */
  readonly rolledBack: Promise<void>;
}

const nothingToRollBack = Promise.resolve();

/**
 * One attempt to win a quorum by one round: PROTOCOL 2. The ballot decides what is asked, and which answers count (the
 * token, the databases, late votes); when the clocks are read, by the round. The caller has been admitted; this function gives
 * the admission back.
 */
export async function plainVote(
  context: Context,
  request: LockRequest,
  cancellation: Cancellation,
  attempts: Attempts,
): Promise<PlainVote> {
  const { nodes, runtime, clock, admission, proposals } = context;
  let ballot: Ballot;
  let round: Round;
  let won: boolean;
  try {
    ballot = new Ballot(context, request, attempts);
    // PROTOCOL 8.1: the vote proposes its fencing token.
    if (proposals) ballot.proposal = proposals.at(runtime.wall());
    round = ballot.ask();
    await round.decidedOr(cancellation);
    won = isWanted(ballot, cancellation) && verdictOf(round.answers) === "won";
    // PROTOCOL 2.4, 2.5: the remaining validity, net of drift, in lease time. No more than required is a failure.
    const isFailed = !won || ballot.left <= request.settings.minimumValidity;
    if (!isFailed && proposals) await grantFenced(ballot, cancellation);
    else if (!isFailed) ballot.grant(undefined, unaskedIn(round.answers));
  } finally {
    admission.leave();
  }
  if (ballot.lease) {
    admission.recordRound(clock.now() - round.sentAt, round.timeout);
    return { ballot, round, outcome: "granted", rolledBack: nothingToRollBack };
  }
  // Read first: `withdraw` forgets the claim.
  const { isPlaced } = ballot;
  // PROTOCOL 2.6: roll back on every master that the vote may have reached, behind it on the same connection, before
  // anything else.
  const reached = nodes.filter((_, index) => mayHold(round.answers[index]));
  const rolledBack = ballot.withdraw(reached).decided;
  if (cancellation.isOver) return { ballot, round, outcome: "cancelled", rolledBack };
  if (!isPlaced) return { ballot, round, outcome: "moved", rolledBack };
  const outcome = won ? "late" : await reasonFor(round, cancellation);
  if (outcome !== "unavailable") admission.recordRound(clock.now() - round.sentAt, round.timeout);
  return { ballot, round, outcome, rolledBack };
}

function isWanted(ballot: Ballot, cancellation: Latch): boolean {
  return !cancellation.isOver && ballot.isPlaced;
}

/** PROTOCOL 8.2: the votes stored the proposed token; if it was too small, another round stores a larger one. */
async function grantFenced(ballot: Ballot, cancellation: Latch): Promise<void> {
  const fencingToken = await ballot.fence(cancellation);
  const isInTime = ballot.left > ballot.request.settings.minimumValidity;
  if (fencingToken !== undefined && isInTime && isWanted(ballot, cancellation)) ballot.grant(fencingToken);
}

/**
 * A refusal is certain to have set nothing (all keys or none), and so is a command never sent. A master without an
 * answer may hold the key (PROTOCOL 2.6).
 */
function mayHold(answer: Answer | undefined): boolean {
  if (answer === undefined || answer.is === "yes") return true;
  return answer.is === "fault" && answer.sent;
}

/**
 * The masters that are known by now not to have been sent the vote: the release keeps no delete for them (PROTOCOL 2.6). One that
 * turns out later costs a needless delete.
 */
function unaskedIn(answers: Tally): readonly number[] | undefined {
  let unasked: number[] | undefined;
  for (let index = 0; index < answers.length; index += 1) {
    const answer = answers[index];
    if (answer?.is !== "fault" || answer.sent) continue;
    unasked ??= [];
    unasked.push(index);
  }
  return unasked;
}

/**
 * The pause before the next attempt depends on whether another client holds the lock or rivals split the votes. A lost
 * round is decided before all masters have answered; a missing answer is awaited only while it may tell the one from the other
 * (PROTOCOL 2.3: of four masters, two decide that the round is lost, and the third says to whom).
 */
async function reasonFor(round: Round, cancellation: Latch): Promise<"locked" | "split" | "unavailable"> {
  const isClear = (): boolean => !contentionIn(round.answers).open;
  if (!isClear()) await cancellation.race(round.until(isClear));
  return contentionIn(round.answers).kind;
}
