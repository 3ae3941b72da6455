import { elect, type Wish } from "../protocol/attempt.ts";
import { RoundClaim } from "../protocol/claim.ts";
import type { Attempts } from "../protocol/execution-stats.ts";
import type { ReleaseResult } from "../protocol/lease.ts";
import { Lease } from "../protocol/lease.ts";
import type { LockNode, SettleVote } from "../protocol/node.ts";
import { Released, takeBack } from "../protocol/release.ts";
import { firstToken, newToken } from "../protocol/token.ts";
import type { Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { holdDeadline } from "../time/validity.ts";

/** One call of `acquire`, and what came of it. */
export interface Caller {
  readonly wish: Wish;
  readonly attempts: Attempts;
}

export interface PassedOn {
  /** The hold of the next one; none where no quorum took part. */
  readonly heir?: Lease;
  /** For the one who gave up. */
  readonly result: ReleaseResult;
}

/** A hold that has this part of the ttl left is as good as a new one. */
const freshFraction = 0.9;

// A hold is passed on within this process (PROTOCOL 7) in one of two ways. The old hold has ended before (14.5).

/**
 * Where hardly any of its time has passed the next one takes it over as it is: the same key under the same token until
 * the same deadlines, and nothing is sent. Not where somebody else may use the token, nor where the next one needs a
 * fencing token of its own: then nothing is returned.
 */
export function takeOver(lease: Lease, giver: Caller, next: Caller): PassedOn | undefined {
  if (!isFresh(lease, giver.wish, next.wish)) return undefined;
  const { coordinator, placement, token, deadlines } = lease;
  const { nodes, runtime } = coordinator;
  const { resources, ttl } = next.wish;
  const heir = new Lease(coordinator, { placement, resources, token, ttl, deadlines });
  heir.inherit(lease);
  lease.giveTokenUp(newToken(runtime));
  const { latest } = giver.attempts;
  if (latest) next.attempts.add(latest);
  return { heir, result: new Released("released", nodes, latest) };
}

/**
 * Release and vote in one round, which exchanges the tokens. Of the votes of the old hold none counts: the new one is
 * made of this round's alone, each from the send on, as if it had been voted for. Where the exchange fails, both tokens
 * are given up.
 */
export async function exchange(lease: Lease, next: Caller, settings: Settings): Promise<PassedOn> {
  const { coordinator, placement } = lease;
  const { nodes, runtime } = coordinator;
  const { resources, ttl } = next.wish;
  const claim = new RoundClaim(placement, resources, firstToken(runtime), ttl);
  // One more than what is passed on: those who wait on the masters propose more, by when they came (see `Waiter`).
  claim.proposal = lease.fencingToken === undefined ? undefined : lease.fencingToken + 1;
  const swap = (node: LockNode, settle: SettleVote) => node.queue!.swap(claim, lease.token, settle);
  const ended = new Cancellation();
  const { round, lease: heir } = await elect(coordinator, next.wish, claim, swap, ended, next.attempts);
  if (heir) {
    heir.inherit(lease);
    return { heir, result: new Released("released", nodes, round) };
  }
  claim.giveUp();
  lease.alsoUsed(claim.token);
  return { result: await takeBack(lease, settings) };
}

/** Whether the hold, which was given up a moment ago, would do for `wish`: never longer than what it asks for. */
function isFresh(lease: Lease, before: Wish, wish: Wish): boolean {
  if (!lease.mayBeTakenOver || lease.fencingToken !== undefined || lease.longestTtl > wish.ttl) return false;
  // Its deadlines allow for as much drift as was asked for then.
  if (wish.settings.driftFactor > before.settings.driftFactor) return false;
  const { clock, quorum } = lease.coordinator;
  const left = holdDeadline(lease.deadlines, quorum) - clock.now();
  return left >= wish.ttl * freshFraction && left > wish.settings.minimumValidity;
}
