import { ttlWithin } from "../settings/hold-limit.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { nodeDeadline } from "../time/validity.ts";
import { RoundClaim } from "./claim.ts";
import type { Attempts } from "./execution-stats.ts";
import { inQuarantine } from "./faults.ts";
import type { Lease } from "./lease.ts";
import type { Answer } from "./node.ts";
import { Round } from "./round.ts";
import { type Ballot, isRefused, verdictOf } from "./tally.ts";

export interface Question {
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
export async function confirm(
  lease: Lease,
  question: Question,
  attempts: Attempts,
  ended: Cancellation,
): Promise<Ballot> {
  const { runtime, clock, report, admission } = lease.coordinator;
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
    ask: (node, settle) => node.extend(claim, repair, settle),
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
  round.onClosed(() => claim.giveUp());
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
