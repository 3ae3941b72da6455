import { ExecutionError, LockLostError } from "../errors.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { ttlWithin } from "../settings/lease-limit.ts";
import { attemptsAllowed, nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import { sleep } from "../time/sleep.ts";
import { extending } from "../tracing/channels.ts";
import { traceExtend } from "../tracing/traces.ts";
import { RoundClaim } from "./claim.ts";
import { Attempts } from "./execution-stats.ts";
import { inQuarantine } from "./faults.ts";
import type { Lease } from "./lease.ts";
import { isDecided, isRefused, type Tally, verdictOf } from "./quorum.ts";

/** The pause after an attempt that no quorum answered is at most this part of the remaining time. */
export const retryFraction: number = 1 / 4;

/**
 * Extends a lease to at least `ttl` ms from now: PROTOCOL 4. Resolves once a quorum has confirmed, before the current
 * deadline. Rejects with a {@link LockLostError} if the lease has ended, and with an {@link ExecutionError} if no
 * quorum answered in all attempts, of which none begins after that deadline; in that case the lease is held until its deadline. `due` is when the extension was
 * to begin, in lease time; no attempt begins later than `time` ms from now.
 *
 * Of several extensions of one lease, each waits for at most one round of the others, not until they have given up.
 */
export function extend(
  lease: Lease,
  ttl: number,
  settings: Settings,
  due: number = lease.context.clock.now(),
  time: number = Number.POSITIVE_INFINITY,
): Promise<Attempts> {
  const work = () => attemptUntilConfirmed(lease, ttl, settings, due, time);
  return extending.hasSubscribers ? traceExtend(lease, ttl, lease.context, work) : work();
}

async function attemptUntilConfirmed(
  lease: Lease,
  ttl: number,
  settings: Settings,
  due: number,
  time: number,
): Promise<Attempts> {
  const { nodes, runtime, clock } = lease.context;
  const attempts = new Attempts(nodes);
  let dueAt = due;
  // Late answers may prolong the lease for ever without a round that is won: the call settles nevertheless (PROTOCOL 4.6).
  // A resumed lease has no deadline yet, and its keys have the longest ttl at most.
  const until = clock.now() + Math.min(time, lease.remaining() || lease.ttl);
  for (let count = 1; ; count += 1) {
    const tally = await lease.votes.exclusively(() => {
      // PROTOCOL 4.1: checked right before the send. An answer that arrives after the deadline does not count (Lease.renew).
      throwIfEnded(lease, attempts);
      const question = { ttl, repair: lease.mayRepair, settings, due: dueAt };
      return confirm(lease, question, attempts);
    });
    throwIfEnded(lease, attempts);
    // Nothing remains if a resumed lease is confirmed too slowly to be established.
    if (verdictOf(tally) === "won" && lease.remaining() > 0) return attempts;
    if (count >= attemptsAllowed(settings) || clock.now() >= until) {
      throw new ExecutionError(`No quorum confirmed the extension: ${attempts.summary}`, attempts.stats);
    }
    // A resumed lease has no deadline yet that limits the pause.
    const left = lease.remaining() || Number.POSITIVE_INFINITY;
    const pause = Math.min(pauseBetween(settings, runtime, count), left * retryFraction);
    await sleep(runtime, Math.min(pause, until - clock.now()), lease.ended);
    dueAt = clock.now();
  }
}

function throwIfEnded(lease: Lease, attempts: Attempts): void {
  const why = lease.whyEnded;
  if (why !== undefined) throw new LockLostError(lease.resources, why, attempts.stats);
}

/**
 * Asks the masters whether a quorum still holds the token: an extension by 1 ms without repair, which changes nothing
 * (PROTOCOL 4.5, 5.10). Each yes contains the remaining time of the key: a resumed lease gets its deadline from it.
 */
export async function verify(lease: Lease, settings: Settings): Promise<boolean> {
  if (lease.whyEnded !== undefined) return false;
  const attempts = new Attempts(lease.context.nodes);
  const tally = await confirm(lease, { ttl: 1, repair: false, settings }, attempts);
  if (verdictOf(tally) === "won") return lease.remaining() > 0;
  if (isRefused(tally) || lease.hasEnded) return false;
  throw new ExecutionError(
    `Could not verify the lock, fewer than a quorum of masters answered: ${attempts.summary}`,
    attempts.stats,
  );
}

interface Asked {
  /**
   * How long the masters are to keep the keys from now, ms, if the limit of `settings` allows it. They never shorten
   * the time of a key.
   */
  readonly ttl: number;
  /** Whether a master without the key sets it again. */
  readonly repair: boolean;
  readonly settings: Settings;
  /** For an extension: when it was to begin, in lease time. */
  readonly due?: number | undefined;
}

/**
 * One round over the masters of an active lease, for `extend` and `verify`. Each answer goes directly to the lease,
 * which accepts it only before its deadline; a refusal by a majority ends the lease.
 */
async function confirm(lease: Lease, asked: Asked, attempts: Attempts): Promise<Tally> {
  const { ended, context } = lease;
  const { nodes, clock, admission, quorum } = context;
  const { repair, settings, due } = asked;
  const { votes } = lease;
  const driftFactor = Math.max(settings.driftFactor, votes.driftFactor);
  // Computed for each attempt, since time has passed: no key outlives the handle that requested it.
  const ttl = ttlWithin(settings.limit, asked.ttl, clock.now());
  votes.askedFor(ttl);
  const newClaim = () => new RoundClaim(votes, ttl, lease);
  const claim = newClaim();
  const repaired: number[] = [];
  const round = claim.round(context, "extend", {
    timeout: nodeTimeoutFor(lease.ttl, settings),
    maxTimeout: lease.ttl,
    isDecided: (answers) => {
      const unheard = nodes.filter((_, index) => !answers[index] && !repaired.includes(index)).length;
      // PROTOCOL 4.7: a key that was set again confirms nothing while the gaps of a quorum may show.
      return isDecided(answers) && (repaired.length === 0 || repaired.length + unheard < quorum);
    },
    followUp: (index, answer) => {
      if (answer.is !== "no") return undefined;
      // PROTOCOL 4.7: the master may have voted for a rival since it forgot.
      if (!answer.isNew) lease.gaps.missed(index);
      if (!repair || answer.owner !== undefined || repaired.includes(index) || lease.hasEnded)
        return undefined;
      // PROTOCOL 4.7: behind this repair all masters are asked once more. Until then the gap of a second one that forgets
      // might begin within that of this one, although both never lacked the key at the same time.
      const again = { ttl: asked.ttl, repair, settings };
      if (due !== undefined && repaired.length === 0)
        round.closed.onEnd(() => void (lease.hasEnded || confirm(lease, again, new Attempts(nodes))));
      repaired.push(index);
      // PROTOCOL 4.2: sent only while the lease lasts (`RoundClaim.abandoned`). With a claim of its own, since that of the round
      // ends with the round: a slow master is repaired for the next one.
      return newClaim().question("repair");
    },
    onAnswer: (index, answer, { answers, sentAt }) => {
      if (answer.is === "yes") lease.gaps.found(index, sentAt, clock.now());
      if (answer.is === "yes" && answer.inQuarantine && !votes.isKeptBy(index, clock.now())) {
        // The key is set again, for later. Until then the master may also hold a vote for a rival (PROTOCOL 9.7).
        if (answers[index] === answer) answers[index] = inQuarantine(nodes[index]!.name);
      } else if (answer.is === "yes") {
        // At least ttl, and never more than the longest ttl requested, whatever the master answers.
        lease.renew(sentAt, index, Math.min(answer.remaining, votes.ttl), driftFactor);
      } else if (answer.is === "no") lease.refuse(index);
    },
  });
  attempts.add(round);
  const extension = due === undefined ? undefined : { due, ttl };
  if (extension) admission.extensionBegan(extension);
  await round.ask().decidedOr(ended);
  if (extension) admission.extensionEnded(extension, verdictOf(round.answers) === "won");
  // Refusals and missing answers together rule a quorum out, but only refusals show that the lease is lost: await the
  // rest.
  if (verdictOf(round.answers) === "failed" && !isRefused(round.answers)) await ended.race(round.closed.done);
  votes.isConfirmed = verdictOf(round.answers) === "won";
  if (settings.limit && votes.isConfirmed && ttl < asked.ttl) settings.limit.isReached = true;
  if (isRefused(round.answers)) lease.loseToMajority();
  return round.answers;
}
