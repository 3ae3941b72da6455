import { type AcquireCall, type LockRequest, leaseOf, voteFor } from "../protocol/attempt.ts";
import type { ExecutionResult } from "../protocol/lease.ts";
import { Lease } from "../protocol/lease.ts";
import { RoundClaim } from "../protocol/operation.ts";
import { Released } from "../protocol/release.ts";
import { Latch } from "../time/cancellation.ts";
import { leaseDeadline } from "../time/lease-clock.ts";

export interface HandedOff {
  /** The lease of the next call. */
  readonly successor: Lease;
  /** The result for the call that released. */
  readonly result: ExecutionResult;
}

/** A lease with at least this part of the ttl left is as good as a new one. */
const minFreshFraction = 0.9;

// A local hand-off (PROTOCOL 7.16, 7.17) passes a released lock to the next call in this process, in one of
// two ways. The old lease has ended before (PROTOCOL 5.3).

/**
 * Reuses a lease of which hardly any time has passed: the next call gets the same key under the same token
 * until the same deadlines, and nothing is sent. Returns `undefined` if others may use the token, or if the
 * next call needs a fencing token of its own.
 */
export function reuseLease(lease: Lease, predecessor: AcquireCall, next: AcquireCall): HandedOff | undefined {
  if (!isFresh(lease, next.request)) return undefined;
  const { context, placement, token, deadlines } = lease;
  const { nodes, runtime } = context;
  const { resources, ttl, settings } = next.request;
  const { driftFactor } = settings;
  const successor = new Lease(context, { placement, resources, token, ttl, deadlines, driftFactor });
  successor.inherit(lease);
  lease.replaceToken(context.tokens.next());
  const { latest } = predecessor.attempts;
  if (latest) next.attempts.add(latest);
  return { successor, result: new Released("released", nodes, runtime.wall(), latest) };
}

/**
 * Releases and votes in one round, by a token transfer. No vote of the old lease counts: the new one consists
 * of this round's votes alone, each from the send on, like any other. Returns `undefined` if the transfer fails: then
 * both tokens are to be released.
 */
export async function transferToken(lease: Lease, next: AcquireCall): Promise<HandedOff | undefined> {
  const { context, placement } = lease;
  const { nodes, runtime } = context;
  const start = runtime.wall();
  const { resources, ttl } = next.request;
  const claim = new RoundClaim(placement, resources, context.tokens.first(), ttl);
  // One more than the previous token. Waiters on the masters propose larger ones, from their time of arrival
  // (see `QueuedAcquire`).
  claim.proposal = lease.fencingToken === undefined ? undefined : lease.fencingToken + 1;
  const cancellation = new Latch();
  const vote = voteFor(context, next.request, claim, claim.question("transfer", lease.token));
  next.attempts.add(vote.round);
  vote.round.ask();
  const { round, lease: successor } = await leaseOf(
    context,
    next.request.settings,
    claim,
    vote,
    cancellation,
  );
  if (successor) {
    successor.inherit(lease);
    return { successor, result: new Released("released", nodes, start, round) };
  }
  claim.giveUp();
  lease.alsoUsed(claim.token, ttl);
  return undefined;
}

/** Whether the lease just released fits `request`: it must not last longer than requested. */
function isFresh(lease: Lease, request: LockRequest): boolean {
  if (!lease.mayBeTakenOver || lease.fencingToken !== undefined || lease.longestTtl > request.ttl)
    return false;
  // Its deadlines allow for no more drift than it was requested with.
  if (request.settings.driftFactor > lease.driftFactor) return false;
  const { clock, quorum } = lease.context;
  const left = leaseDeadline(lease.deadlines, quorum) - clock.now();
  return left >= request.ttl * minFreshFraction && left > request.settings.minimumValidity;
}
