import { ExecutionError, LockLostError } from "../errors.ts";
import { pauseBetween } from "../settings/backoff.ts";
import { attemptsAllowed, type Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { sleep } from "../time/sleep.ts";
import { confirm } from "./confirm.ts";
import { Attempts } from "./execution-stats.ts";
import type { Lease } from "./lease.ts";
import { verdictOf } from "./tally.ts";

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
  due: number = lease.coordinator.clock.now(),
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
  const { nodes, runtime, clock } = lease.coordinator;
  const attempts = new Attempts(nodes);
  let dueAt = due;
  for (let count = 1; ; count += 1) {
    const ballot = await lease.exclusively(() => {
      // Looked at right before the send: a repair is allowed only while the deadline stands, when nobody else can
      // hold. An answer that comes after it counts for nothing (Lease.renew).
      throwIfEnded(lease, attempts);
      const question = { ttl, repair: lease.mayRepair, settings, due: dueAt };
      return confirm(lease, question, attempts, ended);
    });
    throwIfEnded(lease, attempts);
    // Nothing remains where a resumed lease is confirmed too slowly to be established.
    if (verdictOf(ballot) === "won" && lease.remaining() > 0) return attempts;
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
