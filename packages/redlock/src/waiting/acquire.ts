import { ExecutionError, ResourceLockedError } from "../errors.ts";
import { type AcquireResult, type Attempt, attempt, type Wish } from "../protocol/attempt.ts";
import type { Coordinator } from "../protocol/context.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { type Contention, contentionIn, ownersIn } from "../protocol/quorum.ts";
import { release } from "../protocol/release.ts";
import { userName } from "../resource-names.ts";
import { hintFor } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { randomFraction } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";
import type { Turn } from "./local-queue.ts";
import { ownerAmong } from "./own-locks.ts";
import { Patience } from "./retry-budget.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/** So often is a vote that rivals split taken again at once, before it counts as a failed attempt. */
const mostRevotes = 8;

/**
 * A wait for more resources is asking again, without the queue: an enrolment of so many takes a master some 13 ms, in
 * which it does nothing else.
 */
const mostQueued = 1000;

/** What a contest works with. */
export interface Contender {
  readonly coordinator: Coordinator;
  readonly wish: Wish;
  /** Ended by the caller's signal or by `quit`. */
  readonly cancellation: Cancellation;
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
export async function contend(contender: Contender): Promise<AcquireResult> {
  const { coordinator, wish, cancellation } = contender;
  const patience = new Patience(coordinator.runtime, wish.settings, cancellation);
  const attempts = new Attempts(coordinator.nodes);
  const isQueued = patience.isAny && wish.resources.length <= mostQueued;
  const room = isQueued ? contender.room : undefined;
  try {
    const tried = await attemptUntilRefused(contender, room, patience, attempts);
    if (!("outcome" in tried)) return tried;
    patience.waitForTurn();
    const turn = await room!.wait(wish, patience.ended, attempts);
    return await contestOf(turn, contender, tried, attempts);
  } finally {
    patience.end();
  }
}

/**
 * The attempts before the queue, or instead of it where there is no room to wait in. With a room it comes to the refusal
 * after which the turn is waited for. On its own, so that nothing of it is left while thousands wait.
 */
async function attemptUntilRefused(
  contender: Contender,
  room: WaitingRoom | undefined,
  patience: Patience,
  attempts: Attempts,
): Promise<AcquireResult | Failed> {
  const { coordinator, wish, cancellation } = contender;
  for (let previous: Failed | undefined; ; ) {
    if (room?.isContended(wish.resources)) return notTried(wish);
    let last = await attemptInTurn(contender, room, patience, attempts);
    // Others were refused while it stood in line for a place.
    if (!last && !patience.ended.reason) continue;
    if (room && (last?.outcome === "locked" || last?.outcome === "split")) {
      room.refused(wish.resources);
      return failedWith(last.outcome, contentionIn(last.round.answers), wish);
    }
    if (last?.outcome === "split") last = await revote(contender, patience, attempts, last);
    if (last?.lease) return { lease: last.lease, attempts };
    if (cancellation.reason) {
      // An aborted acquire leaves nothing behind: it waits for its roll-back, one nodeTimeout at most.
      await last?.undone;
      throw cancellation.reason;
    }
    // What was asked in a database that a client has left says nothing of the one where it is now.
    if (last?.outcome === "moved" && !patience.ended.reason) continue;
    if (!last)
      return previous && !patience.lateness
        ? failure(previous, attempts)
        : crowdedOut(contender, patience, attempts);
    const failed = failedWith(last.outcome, contentionIn(last.round.answers), wish);
    const pause = patience.pauseAfter(last);
    if (pause === undefined) return failure(failed, attempts, patience.isAny ? contender : undefined);
    previous = failed;
    await sleep(coordinator.runtime, pause, cancellation);
    if (cancellation.reason) throw cancellation.reason;
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
  const { coordinator, wish } = contender;
  const { runtime, clock } = coordinator;
  let last = split;
  for (let count = 1; count <= mostRevotes; count += 1) {
    const rivals = new Set(ownersIn(last.round.answers));
    // Rivals that ask again within one round trip of each other split the votes again: spread over some.
    const roundTrip = Math.max(1, clock.now() - last.round.sentAt);
    const spread = Math.min(roundTrip * 2 ** count, Math.max(wish.settings.retryDelay, 50));
    await sleep(runtime, randomFraction(runtime) * spread, patience.ended);
    if (patience.ended.reason) return last;
    const next = await attemptInTurn(contender, undefined, patience, attempts);
    if (!next) return last;
    last = next;
    if (last.outcome !== "split") return last;
    if (ownersIn(last.round.answers).every((owner) => rivals.has(owner))) return last;
  }
  return last;
}

/**
 * One attempt, as soon as a place is free; none if there is no place in time, or it would very likely be refused, and
 * there is a room to wait in.
 */
function attemptInTurn(
  contender: Contender,
  room: WaitingRoom | undefined,
  patience: Patience,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { coordinator, wish, cancellation } = contender;
  if (coordinator.admission.enter()) return attempt(coordinator, wish, cancellation, attempts);
  return attemptFromLine(contender, room, patience, attempts);
}

async function attemptFromLine(
  { coordinator, wish, cancellation }: Contender,
  room: WaitingRoom | undefined,
  patience: Patience,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { admission } = coordinator;
  if (!(await admission.wait(patience))) return undefined;
  // Others were refused while it stood in line.
  if (!patience.ended.reason && !room?.isContended(wish.resources))
    return attempt(coordinator, wish, cancellation, attempts);
  admission.leave();
  return undefined;
}

/** What came of waiting, when the lock is there or the time to wait is over. */
async function contestOf(
  { lease, contention, error }: Turn,
  contender: Contender,
  before: Failed,
  attempts: Attempts,
): Promise<AcquireResult> {
  const { wish, cancellation } = contender;
  if (error !== undefined) throw error;
  if (lease && !cancellation.reason) return { lease, attempts };
  // Granted in the moment of giving up.
  if (lease) await release(lease, wish.settings);
  if (cancellation.reason) throw cancellation.reason;
  // Where its time was over before it was its turn to ask, others were in the way.
  const failed = contention ? failedWith(contention.kind, contention, wish) : before;
  return failure(failed, attempts, contender);
}

/** Of a ballot that was not won, what is told. */
interface Failed {
  readonly outcome: Attempt["outcome"];
  readonly resource: string;
  readonly freeIn: number;
  readonly ttl: number;
}

function failedWith(outcome: Attempt["outcome"], { resource, freeIn }: Contention, wish: Wish): Failed {
  return { outcome, resource: resource ?? userName(wish.resources[0]!), freeIn, ttl: wish.ttl };
}

/** Others are in the way, as far as is known. */
function notTried({ resources, ttl }: Wish): Failed {
  return { outcome: "locked", resource: resources[0]!, freeIn: 0, ttl };
}

/** `waited`: who has waited in vain. */
function failure(
  { outcome, resource, freeIn, ttl }: Failed,
  attempts: Attempts,
  waited?: Contender,
): AcquireResult {
  const contended = outcome === "locked" || outcome === "split";
  if (contended) {
    const owner = waited && ownerAmong(waited.coordinator, resource, waited.wish.resources[0]!);
    return { contended, error: new ResourceLockedError(resource, freeIn, attempts.stats, owner) };
  }
  const isLate = outcome === "late" || attempts.hadQuorum;
  const why = isLate ? "The votes came too late for any validity to remain" : "No quorum";
  const message = `${why}: ${attempts.summary}${hintFor(ttl)}`;
  return { contended, error: new ExecutionError(message, attempts.stats) };
}

/** No round could begin while it was worth waiting for one. */
function crowdedOut({ coordinator }: Contender, { lateness }: Patience, attempts: Attempts): AcquireResult {
  const { admission, leases } = coordinator;
  const why = lateness
    ? `No new lock: ${leases.size} are held, and their extensions come ${Math.ceil(lateness.by)} ms late, ` +
      `more than ${Math.floor(lateness.allowed)} ms. Hold fewer in one process, or for a longer ttl`
    : `Timed out while waiting for one of ${admission.limit} rounds at a time (acquireConcurrency, or fewer where ` +
      "masters are slow)";
  return { contended: false, error: new ExecutionError(why, attempts.stats) };
}
