import { ExecutionError, LockLostError } from "../errors.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { ttlWithin } from "../settings/hold-limit.ts";
import { attemptsAllowed, nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";
import { nodeDeadline } from "../time/validity.ts";
import { RoundClaim } from "./claim.ts";
import { Attempts } from "./execution-stats.ts";
import { inQuarantine } from "./faults.ts";
import type { Lease } from "./lease.ts";
import type { Answer } from "./node.ts";
import { isRefused, type Tally, verdictOf } from "./quorum.ts";
import { Round } from "./round.ts";

/** An attempt that no quorum answered is made again after this part of what is left, or sooner. */
export const retryFraction: number = 1 / 4;

/**
 * Extends a hold to at least `ttl` ms from now: PROTOCOL 4. Resolves once a quorum has confirmed, before the
 * deadline that stood; rejects with a {@link LockLostError} when the hold has ended, with an
 * {@link ExecutionError} when no quorum answered in all attempts: then it still stands until its deadline.
 * `due` is when it was to begin, in lease time.
 *
 * Of several extensions of one hold each waits for a round of the others at most, not until they have given up.
 */
export async function extend(
  lease: Lease,
  ttl: number,
  settings: Settings,
  due: number = lease.context.clock.now(),
): Promise<Attempts> {
  const ended = new Cancellation();
  const forget = lease.onEnd(() => ended.cancel(new Error("the hold has ended")));
  try {
    return await attemptUntilConfirmed(lease, ttl, settings, due, ended);
  } finally {
    forget();
  }
}

async function attemptUntilConfirmed(
  lease: Lease,
  ttl: number,
  settings: Settings,
  due: number,
  ended: Cancellation,
): Promise<Attempts> {
  const { nodes, runtime, clock } = lease.context;
  const attempts = new Attempts(nodes);
  let dueAt = due;
  for (let count = 1; ; count += 1) {
    const tally = await lease.exclusively(() => {
      // Looked at right before the send: a repair is allowed only while the deadline stands, when nobody else can
      // hold. An answer that comes after it counts for nothing (Lease.renew).
      throwIfEnded(lease, attempts);
      const question = { ttl, repair: lease.mayRepair, settings, due: dueAt };
      return confirm(lease, question, attempts, ended);
    });
    throwIfEnded(lease, attempts);
    // Nothing remains where a resumed lease is confirmed too slowly to be established.
    if (verdictOf(tally) === "won" && lease.remaining() > 0) return attempts;
    if (count >= attemptsAllowed(settings)) {
      throw new ExecutionError(`No quorum confirmed the extension: ${attempts.summary}`, attempts.stats);
    }
    // A resumed lease has nothing left to be in time for.
    const left = lease.remaining() || Number.POSITIVE_INFINITY;
    await sleep(runtime, Math.min(pauseBetween(settings, runtime, count), left * retryFraction), ended);
    dueAt = clock.now();
  }
}

function throwIfEnded(lease: Lease, attempts: Attempts): void {
  const why = lease.whyEnded;
  if (why !== undefined) throw new LockLostError(lease.resources, why, attempts.stats);
}

/**
 * Asks the masters, now, whether a quorum still holds the token: an extension by 1 ms without repair, which
 * changes nothing (PROTOCOL 14.1, 14.14). Each yes tells how long the key still lives, which is how a resumed
 * lease learns what it has.
 */
export async function verify(lease: Lease, settings: Settings): Promise<boolean> {
  if (lease.lost || lease.hasEnded) return false;
  const attempts = new Attempts(lease.context.nodes);
  const tally = await confirm(lease, { ttl: 1, repair: false, settings }, attempts, new Cancellation());
  if (verdictOf(tally) === "won") return lease.remaining() > 0;
  if (isRefused(tally) || lease.hasEnded) return false;
  throw new ExecutionError(`No quorum told whether the lock is held: ${attempts.summary}`, attempts.stats);
}

interface Question {
  /**
   * For how long the masters are to keep the keys from now, ms, where the limit of `settings` allows it; they never keep
   * them for less than they would.
   */
  readonly ttl: number;
  /** Whether a master that has no key any more is given it again. */
  readonly repair: boolean;
  readonly settings: Settings;
  /** For an extension: when it was to begin, in lease time. */
  readonly due?: number | undefined;
}

/**
 * One round over the masters of a standing hold, for `extend` and `verify`. What each one says goes straight to
 * the lease, which takes it only while its deadline stands; a refusal by a majority ends it.
 */
async function confirm(
  lease: Lease,
  question: Question,
  attempts: Attempts,
  ended: Cancellation,
): Promise<Tally> {
  const { runtime, clock, report, admission } = lease.context;
  const { nodes } = lease.placement;
  const { repair, settings, due } = question;
  // Here, since each attempt is a later one: no key lives on after the handle that has asked for it.
  const ttl = ttlWithin(settings.limit, question.ttl, clock.now());
  lease.askedFor(ttl);
  const claim = new RoundClaim(lease.placement, lease.resources, lease.token, ttl, lease);
  const round: Round<Answer> = new Round<Answer>({
    nodes,
    runtime,
    clock,
    timeout: nodeTimeoutFor(lease.longestTtl, settings),
    longest: lease.longestTtl,
    ask: claim.question(repair ? "repair" : "extend"),
    claim,
    hear: (index, answer) => {
      if (answer.vote === "yes" && answer.inQuarantine && !lease.isKeptBy(index)) {
        // The key is repaired, for the time after. Until then the master may stand for a rival as well (PROTOCOL 9).
        if (round.answers[index] === answer) round.answers[index] = inQuarantine(nodes[index]!.name);
      } else if (answer.vote === "yes") {
        // At least ttl, and never more than was ever asked for, whatever a master may say.
        const remaining = Math.min(answer.remaining, lease.longestTtl);
        lease.renew(index, nodeDeadline(round.sentAt, remaining, settings.driftFactor));
      } else if (answer.vote === "no") lease.refuse(index);
      else report(answer.error);
      return verdictOf(round.answers) !== "open";
    },
  });
  attempts.add(round);
  const extension = due === undefined ? undefined : { due, ttl };
  if (extension) admission.began(extension);
  await round.decidedOr(ended);
  if (extension) admission.ended(extension, verdictOf(round.answers) === "won");
  // Refusals and silence together rule a quorum out, but only refusals tell that the hold is lost: hear the rest.
  if (verdictOf(round.answers) === "failed" && !isRefused(round.answers)) await ended.race(round.closed);
  const isConfirmed = verdictOf(round.answers) === "won";
  lease.confirm(isConfirmed);
  if (settings.limit && isConfirmed && ttl < question.ttl) settings.limit.isReached = true;
  if (isRefused(round.answers)) lease.loseToMajority();
  return round.answers;
}
