import { Attempts } from "./attempts.ts";
import { verdictOf } from "./ballot.ts";
import { Cancellation } from "./cancellation.ts";
import { confirm } from "./confirm.ts";
import type { Coordinator } from "./coordinator.ts";
import { ExecutionError, LockLostError } from "./errors.ts";
import type { Lease } from "./lease.ts";
import { randomFraction } from "./runtime.ts";
import { attemptsAllowed, backoffFrom, type Settings } from "./settings.ts";
import { sleep } from "./sleep.ts";

/** An attempt that no quorum answered is made again after this part of what is left, or sooner. */
const retryFraction = 1 / 4;

/**
 * Extends a hold to at least `ttl` ms from now: PROTOCOL 4. Resolves once a quorum has confirmed, before the
 * deadline that stood; rejects with a {@link LockLostError} when the hold is lost, with an
 * {@link ExecutionError} when no quorum answered in all attempts: then it still stands until its deadline.
 */
export async function extend(
  coordinator: Coordinator,
  lease: Lease,
  ttl: number,
  settings: Settings,
): Promise<Attempts> {
  // One extension at a time: the answers of two would be mixed up.
  while (lease.extending) await lease.extending;
  const ended = new Cancellation();
  const forget = lease.onEnd(() => ended.cancel(new Error("the hold has ended")));
  const extending = extendNow(coordinator, lease, ttl, settings, ended);
  lease.extending = extending.then(forget, forget).then(() => {
    lease.extending = undefined;
  });
  return extending;
}

async function extendNow(
  coordinator: Coordinator,
  lease: Lease,
  ttl: number,
  settings: Settings,
  ended: Cancellation,
): Promise<Attempts> {
  const attempts = new Attempts(coordinator.nodes);
  for (let count = 1; ; count += 1) {
    // Looked at right before the send: a repair is allowed only while the deadline stands, when nobody else can
    // hold. An answer that comes after it counts for nothing (Lease.renew).
    throwIfEnded(lease, attempts);
    const question = { ttl, repair: lease.mayRepair, settings };
    const ballot = await confirm(coordinator, lease, question, attempts, ended);
    throwIfEnded(lease, attempts);
    if (verdictOf(ballot) === "won") return attempts;
    if (count >= attemptsAllowed(settings)) {
      throw new ExecutionError(`No quorum confirmed the extension: ${attempts.summary}`, attempts.stats);
    }
    const backoff = backoffFrom(settings)({ attempt: count, random: randomFraction(coordinator.runtime) });
    // A resumed lease has nothing left to be in time for.
    const left = lease.remaining() || Number.POSITIVE_INFINITY;
    await sleep(coordinator.runtime, Math.min(backoff, left * retryFraction), ended);
  }
}

function throwIfEnded(lease: Lease, attempts: Attempts): void {
  if (lease.lost) throw new LockLostError(lease.resources, lease.lost.why, attempts.stats);
  if (lease.state === "released") throw new LockLostError(lease.resources, "it was released", attempts.stats);
}
