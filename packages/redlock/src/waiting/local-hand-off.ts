import { type LockRequest, voteRound } from "../protocol/attempt.ts";
import { RoundClaim } from "../protocol/claim.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import type { ReleaseResult } from "../protocol/lease.ts";
import { Lease } from "../protocol/lease.ts";
import type { LockNode, OnVote } from "../protocol/node.ts";
import { Released, releaseKeys } from "../protocol/release.ts";
import { firstToken, newToken } from "../protocol/token.ts";
import type { Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { leaseDeadline } from "../time/validity.ts";

/** One call of `acquire`, and what came of it. */
export interface Caller {
  readonly request: LockRequest;
  readonly attempts: Attempts;
}

export interface HandedOff {
  /** The hold of the next one; none where no quorum took part. */
  readonly successor?: Lease;
  /** For the one who gave up. */
  readonly result: ReleaseResult;
}

/** A hold that has this part of the ttl left is as good as a new one. */
const freshFraction = 0.9;

// A hold is passed on within this process (PROTOCOL 7.16, 7.17) in one of two ways. The old hold has ended before (PROTOCOL 5.3).

/**
 * Where hardly any of its time has passed the next one takes it over as it is: the same key under the same token until
 * the same deadlines, and nothing is sent. Not where somebody else may use the token, nor where the next one needs a
 * fencing token of its own: then nothing is returned.
 */
export function takeOver(lease: Lease, predecessor: Caller, next: Caller): HandedOff | undefined {
  if (!isFresh(lease, predecessor.request, next.request)) return undefined;
  const { context, placement, token, deadlines } = lease;
  const { nodes, runtime } = context;
  const { resources, ttl } = next.request;
  const successor = new Lease(context, { placement, resources, token, ttl, deadlines });
  successor.inherit(lease);
  lease.giveTokenUp(newToken(runtime));
  const { latest } = predecessor.attempts;
  if (latest) next.attempts.add(latest);
  return { successor, result: new Released("released", nodes, latest) };
}

/**
 * Release and vote in one round, which exchanges the tokens. Of the votes of the old hold none counts: the new one is
 * made of this round's alone, each from the send on, as if it had been voted for. Where the exchange fails, both tokens
 * are given up.
 */
export async function exchange(lease: Lease, next: Caller, settings: Settings): Promise<HandedOff> {
  const { context, placement } = lease;
  const { nodes, runtime } = context;
  const { resources, ttl } = next.request;
  const claim = new RoundClaim(placement, resources, firstToken(runtime), ttl);
  // One more than what is passed on: those who wait on the masters propose more, by when they came (see `Waiter`).
  claim.proposal = lease.fencingToken === undefined ? undefined : lease.fencingToken + 1;
  const swap = (node: LockNode, settle: OnVote) => node.queue!.transfer(claim, lease.token, settle);
  const ended = new Cancellation();
  const { round, lease: successor } = await voteRound(
    context,
    next.request,
    claim,
    swap,
    ended,
    next.attempts,
  );
  if (successor) {
    successor.inherit(lease);
    return { successor, result: new Released("released", nodes, round) };
  }
  claim.giveUp();
  lease.alsoUsed(claim.token);
  return { result: await releaseKeys(lease, settings) };
}

/** Whether the hold, which was given up a moment ago, would do for `request`: never longer than what it asks for. */
function isFresh(lease: Lease, before: LockRequest, request: LockRequest): boolean {
  if (!lease.mayBeTakenOver || lease.fencingToken !== undefined || lease.longestTtl > request.ttl)
    return false;
  // Its deadlines allow for as much drift as was asked for then.
  if (request.settings.driftFactor > before.settings.driftFactor) return false;
  const { clock, quorum } = lease.context;
  const left = leaseDeadline(lease.deadlines, quorum) - clock.now();
  return left >= request.ttl * freshFraction && left > request.settings.minimumValidity;
}
