import type { RedlockError } from "../errors.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { Cancellation, Latch } from "../time/cancellation.ts";
import { leaseDeadline, never, nodeDeadline } from "../time/lease-clock.ts";
import type { AcquireMessage } from "../tracing/tracing.ts";
import type { Context } from "./context.ts";
import type { Attempts } from "./execution-stats.ts";
import { type Counters, countersIn, isStored, tokenOf } from "./fencing.ts";
import { reportForeign } from "./foreign.ts";
import { Lease } from "./lease.ts";
import type { Answer } from "./node.ts";
import { RoundClaim } from "./question.ts";
import { contentionIn, decide, isDecided, type Tally, type Verdict, verdictOf } from "./quorum.ts";
import { Round } from "./round.ts";

/** A lock on all of the resources, or none, for `ttl` ms. */
export interface LockRequest {
  readonly resources: readonly string[];
  readonly ttl: number;
  readonly settings: Settings;
  /** Whether others may hold the resources as well if they ask for the same. */
  readonly isShared?: boolean;
  /** No master votes that has a holder of this key: earlier callers wait there. */
  readonly unless?: string | undefined;
  /** A waiter asks the masters again after this time at the earliest, ms. */
  readonly minHeartbeat?: number;
  /** The message of the call, while somebody listens to `quorlock:acquire`. */
  readonly call?: AcquireMessage;
  /** Left on the masters while the claim retries without a queue. */
  readonly mark?: Mark;
}

/** Keeps later claims out of the resources between two attempts. */
export interface Mark {
  /** Others hold the resources, and another attempt follows. */
  keep(): void;
  remove(): void;
}

/** One call of `acquire` with its attempts. */
export interface AcquireCall {
  readonly request: LockRequest;
  readonly attempts: Attempts;
}

/** The lease of an acquire, or the error if there is none. */
export type AcquireResult =
  | { readonly lease: Lease; readonly attempts: Attempts }
  | { readonly lease?: undefined; readonly contended: boolean; readonly error: RedlockError };

export interface Attempt {
  readonly round: Round;
  /**
   * `granted` comes with the lease. `late`: a quorum said yes, but too slowly to leave any validity. `moved`: a
   * client was switched to another database meanwhile. The others are distinguished by {@link contentionIn}.
   */
  readonly outcome: "granted" | "late" | "cancelled" | "locked" | "split" | "unavailable" | "moved";
  readonly lease?: Lease;
  /** Resolves when the masters have rolled the votes back, or the time for that is over. */
  readonly rolledBack: Promise<void>;
}

const nothingToRollBack = Promise.resolve();

/**
 * One attempt to win a quorum: PROTOCOL 2, line by line. The caller has been admitted; this function gives the
 * admission back.
 */
export async function attempt(
  context: Context,
  request: LockRequest,
  cancellation: Cancellation,
  attempts: Attempts,
): Promise<Attempt> {
  const { runtime, clock, tokens, proposals, isQueued, placements, admission } = context;

  let claim: RoundClaim;
  let voted: VoteRound;
  try {
    // PROTOCOL 2.1: a new token for each attempt: a late rollback of the previous attempt cannot touch the votes of this one.
    const token = isQueued ? tokens.first() : tokens.next();
    claim = new RoundClaim(placements.current, request.resources, token, request.ttl);
    if (proposals) claim.proposal = proposals.at(runtime.wall());
    const vote = voteFor(context, request, claim);
    attempts.add(vote.round);
    // PROTOCOL 2.2: all masters are asked in parallel.
    vote.round.ask();
    // PROTOCOL 2.3 to 2.5.
    voted = await leaseOf(context, request.settings, claim, vote, cancellation);
  } finally {
    admission.leave();
  }
  const { round, won, lease } = voted;
  if (lease) {
    admission.recordRound(clock.now() - round.sentAt, round.timeout);
    return { round, outcome: "granted", lease, rolledBack: nothingToRollBack };
  }

  // PROTOCOL 2.6: roll back on every master that the vote may have reached, behind it on the same connection, before
  // anything else.
  claim.giveUp();
  const rolledBack = rollBack(context, claim, round);
  if (cancellation.isOver) return { round, outcome: "cancelled", rolledBack };
  if (claim.placement.whyLeft !== undefined) return { round, outcome: "moved", rolledBack };
  const outcome = won ? "late" : await reasonFor(round, cancellation);
  if (outcome !== "unavailable") admission.recordRound(clock.now() - round.sentAt, round.timeout);
  return { round, outcome, rolledBack };
}

export interface VoteRound {
  readonly round: Round;
  /** Whether a quorum said yes. */
  readonly won: boolean;
  /** The lease that the votes make, unless they came too late or the caller has given up. */
  readonly lease?: Lease;
}

/** A round of votes, and until when each master keeps its vote for sure. */
interface Vote {
  readonly round: Round;
  readonly deadlines: number[];
}

/** The vote round for `claim`. It reads the clocks; the caller asks directly afterwards (PROTOCOL 2.2). */
export function voteFor(context: Context, { ttl, settings, unless }: LockRequest, claim: RoundClaim): Vote {
  const { nodes, runtime, clock, report } = context;
  const deadlines: number[] = [];
  for (const _ of nodes) deadlines.push(never);
  const round = new Round({
    nodes,
    runtime,
    clock,
    timeout: nodeTimeoutFor(ttl, settings),
    log: context.log,
    question: unless === undefined ? claim.question("vote") : claim.question("voteUnless", undefined, unless),
    claim,
    // PROTOCOL 2.3: the round is decided as soon as possible: at q yes votes, or with more than N - q against.
    isDecided,
    onAnswer: (index, answer, { answers, timeout, sentAt }) => {
      if (answers[index] !== answer && answer.is !== "fault") context.admission.recordLateAnswer(timeout);
      // PROTOCOL 3.1: each master's deadline counts from the send. A yes that arrives after the quorum's still
      // prolongs the lease.
      if (answer.is === "yes") {
        deadlines[index] = nodeDeadline(sentAt, ttl, settings.driftFactor);
        claim.lease?.renew(index, deadlines[index]);
      } else if (answer.is === "no") reportForeign(context, index, answer);
      else if (answer.is === "fault") report(answer.error);
    },
  });
  return { round, deadlines };
}

/** The lease for `claim`, if its round wins a quorum. */
export async function leaseOf(
  context: Context,
  settings: Settings,
  claim: RoundClaim,
  { round, deadlines }: Vote,
  cancellation: Latch,
): Promise<VoteRound> {
  const { quorum, clock } = context;
  const { resources, token, placement, ttl } = claim;
  const { driftFactor } = settings;
  await round.decidedOr(cancellation);

  // PROTOCOL 2.15: votes in a database that was left do not count.
  const isWanted = !cancellation.isOver && placement.whyLeft === undefined;
  const won = isWanted && verdictOf(round.answers) === "won";
  // PROTOCOL 2.4, 2.5: the remaining validity, net of drift, by the larger of the two clocks. Less than required is a
  // failure.
  if (!won || leaseDeadline(deadlines, quorum) - clock.now() <= settings.minimumValidity)
    return { round, won };
  if (claim.proposal === undefined) {
    const unasked = unaskedIn(round.answers);
    const lease = new Lease(context, { placement, resources, token, ttl, deadlines, unasked, driftFactor });
    claim.lease = lease;
    return { round, won, lease };
  }
  // PROTOCOL 8.2: the votes stored the proposed token; if it was too small, another round stores a larger one.
  const received = { counters: () => countersIn(round.answers), all: () => round.closed };
  const fencingToken = await fence(context, claim, settings, received, deadlines, cancellation);
  const isInTime = leaseDeadline(deadlines, quorum) - clock.now() > settings.minimumValidity;
  const isStillWanted = !cancellation.isOver && placement.whyLeft === undefined;
  if (fencingToken === undefined || !isStillWanted || !isInTime) return { round, won };
  const lease = new Lease(context, {
    placement,
    resources,
    token,
    ttl,
    deadlines,
    fencingToken,
    driftFactor,
  });
  claim.lease = lease;
  return { round, won, lease };
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
  {
    nodes,
    quorum,
    runtime,
    clock,
    report,
    proposals,
  }: Pick<Context, "nodes" | "quorum" | "runtime" | "clock" | "report" | "proposals">,
  claim: RoundClaim,
  settings: Settings,
  received: ReceivedCounters,
  deadlines: number[],
  ended: Latch,
): Promise<number | undefined> {
  const { placement, resources, ttl, proposal } = claim;
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
  const round = new Round({
    nodes,
    runtime,
    clock,
    timeout: nodeTimeoutFor(ttl, settings),
    question: storing.question("extend"),
    claim: storing,
    isDecided: (answers) => verdict(answers) !== "open",
    onAnswer: (index, answer, { sentAt }) => {
      if (answer.is === "yes") deadlines[index] = nodeDeadline(sentAt, ttl, settings.driftFactor);
      else if (answer.is === "no") deadlines[index] = never;
      else if (answer.is === "fault") report(answer.error);
    },
  });
  await round.ask().decidedOr(ended);
  if (verdict(round.answers) === "won") return token;
  storing.giveUp();
  return undefined;
}

function rollBack(
  { nodes, rollbacks }: Pick<Context, "nodes" | "rollbacks">,
  claim: RoundClaim,
  round: Round,
): Promise<void> {
  const { resources, token, ttl } = claim;
  const reached = nodes.filter((_, index) => mayHold(round.answers[index]));
  return rollbacks.removal({ resources, token, ttl }, reached, round.timeout).ask().decided;
}

/**
 * A refusal is certain to have set nothing (all keys or none), and so is a command never sent. A master without an
 * answer may hold the key.
 */
function mayHold(answer: Answer | undefined): boolean {
  if (answer === undefined || answer.is === "yes") return true;
  return answer.is === "fault" && answer.sent;
}

/** The masters that were not sent the vote. That is known at the send, before any vote arrives. */
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
 * round is decided before all masters have answered; those that are missing are awaited as long as they matter, which one that hangs need not
 * (PROTOCOL 2.3: of four masters, two decide that the round is lost, and the third says to whom).
 */
async function reasonFor(round: Round, cancellation: Latch): Promise<"locked" | "split" | "unavailable"> {
  const isClear = (): boolean => !contentionIn(round.answers).open;
  if (!isClear()) await cancellation.race(round.until(isClear));
  return contentionIn(round.answers).kind;
}
