import type { RedlockError } from "../errors.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { holdDeadline, never, nodeDeadline } from "../time/validity.ts";
import { RoundClaim } from "./claim.ts";
import type { Context } from "./context.ts";
import type { Attempts } from "./execution-stats.ts";
import { countersIn, fence } from "./fencing.ts";
import { Lease } from "./lease.ts";
import type { Answer, Holding, LockNode, SettleVote } from "./node.ts";
import { contentionIn, verdictOf } from "./quorum.ts";
import { Round, type RoundPlan } from "./round.ts";
import { firstToken, newToken } from "./token.ts";

/** What is wanted: all of the resources, or none, for `ttl` ms. */
export interface LockRequest {
  readonly resources: readonly string[];
  readonly ttl: number;
  readonly settings: Settings;
}

/** The lease of an acquire, or why there is none. */
export type AcquireResult =
  | { readonly lease: Lease; readonly attempts: Attempts }
  | { readonly lease?: undefined; readonly contended: boolean; readonly error: RedlockError };

export interface Attempt {
  readonly round: Round<Answer>;
  /**
   * `granted` comes with the lease. `late`: a quorum said yes, but too slowly for anything to be left. `moved`: a client
   * was switched to another database meanwhile.
   * The others are told apart in {@link contentionIn}.
   */
  readonly outcome: "granted" | "late" | "cancelled" | "locked" | "split" | "unavailable" | "moved";
  readonly lease?: Lease;
  /** Settles when the masters have taken the votes back, or had their time to. */
  readonly undone: Promise<void>;
}

const nothingToUndo = Promise.resolve();

/** One attempt to win a quorum: PROTOCOL 2, line by line. It has been admitted, and gives its place back. */
export async function attempt(
  context: Context,
  request: LockRequest,
  cancellation: Cancellation,
  attempts: Attempts,
): Promise<Attempt> {
  const { runtime, clock, proposals, isQueued, placements, admission } = context;

  // 2.1 A fresh token for each attempt: a late roll-back of the one before cannot touch this one's votes.
  const token = isQueued ? firstToken(runtime) : newToken(runtime);
  const claim = new RoundClaim(placements.current, request.resources, token, request.ttl);
  if (proposals) claim.proposal = proposals.at(runtime.wall());

  // 2.2 to 2.5
  const { behind } = request.settings;
  const ask: Ask = behind
    ? (node, settle) => node.vote(claim, voteBehind(node, behind, settle))
    : claim.question("vote");
  let voted: VoteRound;
  try {
    voted = await voteRound(context, request, claim, ask, cancellation, attempts);
  } finally {
    admission.leave();
  }
  const { round, won, lease } = voted;
  if (lease) {
    admission.took(clock.now() - round.sentAt, round.timeout);
    return { round, outcome: "granted", lease, undone: nothingToUndo };
  }

  // 2.6 Roll back wherever the vote may have arrived, behind it on the same connection, before anything else.
  claim.giveUp();
  const undone = rollBack(context, claim, round);
  if (cancellation.reason) return { round, outcome: "cancelled", undone };
  if (claim.placement.whyLeft !== undefined) return { round, outcome: "moved", undone };
  if (won) return { round, outcome: "late", undone };
  const outcome = await reasonFor(round, cancellation);
  if (outcome !== "unavailable") admission.took(clock.now() - round.sentAt, round.timeout);
  return { round, outcome, undone };
}

type Ask = RoundPlan<Answer>["ask"];

export interface VoteRound {
  readonly round: Round<Answer>;
  /** Whether a quorum said yes. */
  readonly won: boolean;
  /** The hold that its votes make, unless they came too late, or for nothing. */
  readonly lease?: Lease;
}

/** One round of votes for `claim`, and the hold that a quorum of them makes. */
export async function voteRound(
  context: Context,
  { ttl, settings }: LockRequest,
  claim: RoundClaim,
  ask: Ask,
  cancellation: Cancellation,
  attempts: Attempts,
): Promise<VoteRound> {
  const { quorum, runtime, clock, report } = context;
  const { resources, token, placement } = claim;
  const { nodes } = placement;

  // 2.2 The clocks are read (in Round) before the first send; then all masters are asked in parallel.
  const deadlines: number[] = [];
  for (const _ of nodes) deadlines.push(never);
  const round: Round<Answer> = new Round<Answer>({
    nodes,
    runtime,
    clock,
    timeout: nodeTimeoutFor(ttl, settings),
    ask,
    claim,
    hear: (index, answer) => {
      if (round.answers[index] !== answer && answer.vote !== "none")
        context.admission.cameLate(round.timeout);
      // 3 Each master's deadline counts from the send. A yes behind the quorum's still prolongs the hold.
      if (answer.vote === "yes") {
        deadlines[index] = nodeDeadline(round.sentAt, ttl, settings.driftFactor);
        claim.lease?.renew(index, deadlines[index]);
      } else if (answer.vote === "none") report(answer.error);
      // 2.3 Decided when decidable: at q yes votes, or with more than N - q against.
      return verdictOf(round.answers) !== "open";
    },
  });
  attempts.add(round);
  await round.decidedOr(cancellation);

  // 14.18 Votes in a database that was left count for nothing.
  const isWanted = cancellation.reason === undefined && placement.whyLeft === undefined;
  const won = isWanted && verdictOf(round.answers) === "won";
  // 2.4, 2.5 What remains, net of drift, from the larger of the two clocks: less than asked for is a failure.
  if (!won || holdDeadline(deadlines, quorum) - clock.now() <= settings.minimumValidity)
    return { round, won };
  if (claim.proposal === undefined) {
    claim.lease = new Lease(context, { placement, resources, token, ttl, deadlines });
    return { round, won, lease: claim.lease };
  }
  // 8 The votes stored what was proposed; where that was too little, another round stores more.
  const told = { counters: () => countersIn(round.answers), all: () => round.closed };
  const fencingToken = await fence(context, claim, settings, told, deadlines, cancellation);
  const isInTime = holdDeadline(deadlines, quorum) - clock.now() > settings.minimumValidity;
  const isStillWanted = cancellation.reason === undefined && placement.whyLeft === undefined;
  if (fencingToken === undefined || !isStillWanted || !isInTime) return { round, won };
  claim.lease = new Lease(context, { placement, resources, token, ttl, deadlines, fencingToken });
  return { round, won, lease: claim.lease };
}

function rollBack(context: Context, claim: RoundClaim, round: Round<Answer>): Promise<void> {
  const { placement, resources, token, ttl } = claim;
  const reached = placement.nodes.filter((_, index) => mayHold(round.answers[index]));
  const leftover = { placement, resources, tokens: [token], ttl };
  return context.rollbacks.remove(leftover, reached, round.timeout).closed;
}

/**
 * Looks at `key` and votes, in one step where the master takes batches: a yes where somebody holds `key` counts as a no. So
 * no quorum votes for a newcomer while a quorum keeps the key for those who wait.
 */
function voteBehind(node: LockNode, key: string, settle: SettleVote): SettleVote {
  let first: Holding | undefined;
  node.inspect(key, (found) => {
    if ("owner" in found && found.owner !== undefined) first = found;
  });
  const behind = (answer: Answer): Answer =>
    first && answer.vote === "yes"
      ? { vote: "no", resource: key, owner: first.owner, remaining: first.remaining, isSet: true }
      : answer;
  return (answer) => settle("reading" in answer ? { ...answer, vote: behind(answer.vote) } : behind(answer));
}

/** A refusal is certain (all keys or none), and so is what was never sent. A silent master may hold the key. */
function mayHold(answer: Answer | undefined): boolean {
  if (answer === undefined || answer.vote === "yes") return true;
  if (answer.vote === "no") return answer.isSet === true;
  return answer.sent;
}

/**
 * Whether somebody holds the lock or rivals split the votes decides how soon to ask again. A lost round is
 * decided before all have answered; where the last answers would tell, they are waited for.
 */
async function reasonFor(
  round: Round<Answer>,
  cancellation: Cancellation,
): Promise<"locked" | "split" | "unavailable"> {
  if (contentionIn(round.answers).open) await cancellation.race(round.closed);
  return contentionIn(round.answers).kind;
}
