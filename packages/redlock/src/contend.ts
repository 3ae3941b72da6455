import type { LimitFunction } from "p-limit";
import { type Attempt, attempt, type Wish } from "./acquire.ts";
import { Attempts } from "./attempts.ts";
import { type Ballot, contentionIn, ownersIn } from "./ballot.ts";
import { Cancellation } from "./cancellation.ts";
import type { Coordinator } from "./coordinator.ts";
import { ExecutionError, type RedlockError, ResourceLockedError } from "./errors.ts";
import type { Lease } from "./lease.ts";
import { Patience } from "./patience.ts";
import { release } from "./release.ts";
import { randomFraction } from "./runtime.ts";
import { sleep } from "./sleep.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/** What came of contending: the lease, or why there is none. */
export type Contest =
  | { readonly lease: Lease; readonly attempts: Attempts }
  | { readonly lease?: undefined; readonly contended: boolean; readonly error: RedlockError };

/** So often is a vote that rivals split taken again at once, before it counts as a failed attempt. */
const mostRevotes = 8;

/** What a contest works with. */
export interface Contender {
  readonly coordinator: Coordinator;
  readonly wish: Wish;
  /** Ended by the caller's signal or by `quit`. */
  readonly cancellation: Cancellation;
  /** One for each round in flight. */
  readonly limit: LimitFunction;
  /** Where waiting is done; `undefined` where it is asking again. */
  readonly room: WaitingRoom | undefined;
}

/**
 * Makes attempts until one is granted or the settings allow no more. Attempts are all that takes a place:
 * the time between two of them takes no place.
 *
 * Where the masters keep a queue, a refusal is the last attempt: from then on the turn comes by itself. What is
 * known to be contended is not even voted for before.
 */
export async function contend(contender: Contender): Promise<Contest> {
  const { coordinator, wish, cancellation } = contender;
  const patience = new Patience(coordinator.runtime, wish.settings);
  const attempts = new Attempts(coordinator.nodes);
  const room = patience.isAny ? contender.room : undefined;
  try {
    if (room?.isContended(wish.resources)) return await waitForTurn(room, contender, patience, attempts);
    for (let previous: Attempt | undefined; ; ) {
      let last = await attemptInTurn(contender, patience, attempts);
      if (room && (last?.outcome === "locked" || last?.outcome === "split")) {
        room.refused(wish.resources);
        return await waitForTurn(room, contender, patience, attempts, last.round.answers);
      }
      if (last?.outcome === "split") last = await revote(contender, patience, attempts, last);
      if (last?.lease) return { lease: last.lease, attempts };
      if (cancellation.reason) {
        // An aborted acquire leaves nothing behind: it waits for its roll-back, one nodeTimeout at most.
        await last?.undone;
        throw cancellation.reason;
      }
      if (!last) return previous ? failure(wish, failed(previous), attempts) : crowdedOut(attempts);
      const pause = patience.pauseAfter(last);
      if (pause === undefined) return failure(wish, failed(last), attempts);
      previous = last;
      await sleep(coordinator.runtime, pause, cancellation);
      if (cancellation.reason) throw cancellation.reason;
    }
  } finally {
    patience.end();
  }
}

/**
 * Votes again after a short random time, as long as live rivals split the votes between them. A rival that asks
 * again has a new token: one that refuses twice is no rival but a lock.
 */
async function revote(
  contender: Contender,
  patience: Patience,
  attempts: Attempts,
  split: Attempt,
): Promise<Attempt> {
  const { coordinator, wish, cancellation } = contender;
  const { runtime, clock } = coordinator;
  let last = split;
  for (let count = 1; count <= mostRevotes; count += 1) {
    const rivals = new Set(ownersIn(last.round.answers));
    // Rivals that ask again within one round trip of each other split the votes again: spread over some.
    const roundTrip = Math.max(1, clock.now() - last.round.sentAt);
    const spread = Math.min(roundTrip * 2 ** count, Math.max(wish.settings.retryDelay, 50));
    await patience.timeUp.race(sleep(runtime, randomFraction(runtime) * spread, cancellation));
    if (cancellation.reason || patience.timeUp.reason) return last;
    const next = await attemptInTurn(contender, patience, attempts);
    if (!next) return last;
    last = next;
    if (last.outcome !== "split") return last;
    if (ownersIn(last.round.answers).every((owner) => rivals.has(owner))) return last;
  }
  return last;
}

/** One attempt, as soon as a place is free; none if there is no place in time. */
function attemptInTurn(
  contender: Contender,
  patience: Patience,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { coordinator, wish, cancellation, limit } = contender;
  if (limit.activeCount + limit.pendingCount < limit.concurrency) {
    return limit(attempt, coordinator, wish, cancellation, attempts);
  }
  let begun = false;
  const result = limit(() => {
    if (patience.timeUp.reason || cancellation.reason) return undefined;
    begun = true;
    return attempt(coordinator, wish, cancellation, attempts);
  });
  return patience.timeUp.race(cancellation.race(result)).then(() => (begun ? result : undefined));
}

/** Stands in the queue of the masters, until the lock is there or the time to wait is over. */
async function waitForTurn(
  room: WaitingRoom,
  { wish, cancellation }: Contender,
  patience: Patience,
  attempts: Attempts,
  before: Ballot = [],
): Promise<Contest> {
  const ended = new Cancellation();
  const forget = [cancellation, patience.timeUp].map((end) => end.onCancel(() => ended.cancel(end.reason!)));
  patience.waitForTurn();
  const { lease, answers } = await room.wait(wish, ended, attempts);
  for (const one of forget) one();
  if (lease && !cancellation.reason) return { lease, attempts };
  // Granted in the moment of giving up.
  if (lease) await release(lease, wish.settings);
  if (cancellation.reason) throw cancellation.reason;
  // Where its time was over before it was its turn to ask, others were in the way.
  const heard = answers.some(Boolean) ? answers : before;
  const outcome = heard.length > 0 ? contentionIn(heard).kind : "locked";
  return failure(wish, { answers: heard, outcome }, attempts);
}

interface Failed {
  readonly answers: Ballot;
  readonly outcome: Attempt["outcome"];
}

function failure(wish: Wish, last: Failed, attempts: Attempts): Contest {
  const { resource, freeIn } = contentionIn(last.answers);
  const contended = last.outcome === "locked" || last.outcome === "split";
  if (contended) {
    const error = new ResourceLockedError(resource ?? wish.resources[0]!, freeIn, attempts.stats);
    return { contended, error };
  }
  const why = last.outcome === "late" ? "The votes came too late for any validity to remain" : "No quorum";
  return { contended, error: new ExecutionError(`${why}: ${attempts.summary}`, attempts.stats) };
}

function failed({ round, outcome }: Attempt): Failed {
  return { answers: round.answers, outcome };
}

function crowdedOut(attempts: Attempts): Contest {
  const why = "acquireConcurrency left no place for a round within waitTimeout";
  return { contended: false, error: new ExecutionError(why, attempts.stats) };
}
