import type { LimitFunction } from "p-limit";
import { type Attempt, attempt, type Wish } from "./acquire.ts";
import { Attempts } from "./attempts.ts";
import { contentionIn } from "./ballot.ts";
import type { Cancellation } from "./cancellation.ts";
import type { Coordinator } from "./coordinator.ts";
import { ExecutionError, type RedlockError, ResourceLockedError } from "./errors.ts";
import type { Lease } from "./lease.ts";
import { randomFraction } from "./runtime.ts";
import { attemptsAllowed, backoffFrom } from "./settings.ts";
import { sleep } from "./sleep.ts";

/** What came of contending: the lease, or why there is none. */
export type Contest =
  | { readonly lease: Lease; readonly attempts: Attempts }
  | { readonly lease?: undefined; readonly contended: boolean; readonly error: RedlockError };

/** So often is a vote that rivals split taken again at once, before it counts as a failed attempt. */
const mostRevotes = 8;
/** A key is gone when its time is *over*; and those who wait for the same one should not all ask together. */
const expiryMargin = 1;
const expiryJitter = 5;

/**
 * Makes attempts until one is granted or the settings allow no more. Attempts are all that waits behind
 * `limit`, one place for each round in flight: the time between two attempts takes no place.
 *
 * (The ticket queue will take the place of `pause`: a refused vote enrols, and the turn comes by itself.)
 */
export async function contend(
  coordinator: Coordinator,
  wish: Wish,
  cancellation: Cancellation,
  limit: LimitFunction,
): Promise<Contest> {
  const attempts = new Attempts(coordinator.nodes);
  const begun = coordinator.clock.now();
  const { waitTimeout } = wish.settings;
  const mostAttempts = waitTimeout === undefined ? attemptsAllowed(wish.settings) : Number.POSITIVE_INFINITY;
  for (let count = 1, timeLeft = true; ; count += 1) {
    const last = await attemptWithRevotes(coordinator, wish, cancellation, limit, attempts);
    if (last?.lease) return { lease: last.lease, attempts };
    if (cancellation.reason || !last) {
      // An aborted acquire leaves nothing behind: it waits for its roll-back, one nodeTimeout at most.
      await last?.undone;
      throw cancellation.reason;
    }
    if (count >= mostAttempts || !timeLeft) {
      await last.undone;
      return failure(wish, last, attempts);
    }
    let delay = pauseAfter(coordinator, wish, last, count);
    if (waitTimeout !== undefined) {
      const rest = begun + waitTimeout - coordinator.clock.now();
      timeLeft = delay < rest;
      delay = Math.max(0, Math.min(delay, rest));
    }
    await sleep(coordinator.runtime, delay, cancellation);
  }
}

/** One attempt, and again after a short random time as long as rivals split the votes between them. */
async function attemptWithRevotes(
  coordinator: Coordinator,
  wish: Wish,
  cancellation: Cancellation,
  limit: LimitFunction,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  for (let revote = 0; ; revote += 1) {
    let begun = false;
    const result = limit(() => {
      begun = true;
      return cancellation.reason ? undefined : attempt(coordinator, wish, cancellation);
    });
    await cancellation.race(result);
    if (cancellation.reason && !begun) return undefined;
    const last = await result;
    if (last) attempts.add(last.round);
    if (last?.outcome !== "split" || revote === mostRevotes) return last;
    // Rivals that ask again within one round trip of each other split the votes again: spread over some.
    const roundTrip = Math.max(1, coordinator.clock.now() - last.round.sentAt);
    const spread = Math.min(roundTrip * 2 ** (revote + 1), Math.max(wish.settings.retryDelay, 50));
    await sleep(coordinator.runtime, randomFraction(coordinator.runtime) * spread, cancellation);
    if (cancellation.reason) return last;
  }
}

/** As long as the backoff says, but no longer than the lock that is in the way can live. */
function pauseAfter(coordinator: Coordinator, wish: Wish, last: Attempt, count: number): number {
  const { runtime } = coordinator;
  const backoff = backoffFrom(wish.settings)({ attempt: count, random: randomFraction(runtime) });
  const { freeIn, kind } = contentionIn(last.round.answers);
  if (kind === "unavailable") return backoff;
  return Math.min(backoff, freeIn + expiryMargin + randomFraction(runtime) * expiryJitter);
}

function failure(wish: Wish, last: Attempt, attempts: Attempts): Contest {
  const { resource, freeIn } = contentionIn(last.round.answers);
  const contended = last.outcome === "locked" || last.outcome === "split";
  if (contended) {
    const error = new ResourceLockedError(resource ?? wish.resources[0]!, freeIn, attempts.stats);
    return { contended, error };
  }
  const why = last.outcome === "late" ? "The votes came too late for any validity to remain" : "No quorum";
  return { contended, error: new ExecutionError(`${why}: ${attempts.summary}`, attempts.stats) };
}
