import { ExecutionError, ResourceLockedError } from "../errors.ts";
import { type AcquireResult, type Attempt, attempt, type LockRequest } from "../protocol/attempt.ts";
import type { Context } from "../protocol/context.ts";
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
import { mayWait, RetryBudget } from "./retry-budget.ts";
import type { WaitingRoom } from "./waiting-room.ts";

/** So often is a vote that rivals split taken again at once, before it counts as a failed attempt. */
const mostRevotes = 8;

/**
 * A wait for more resources is asking again, without the queue: an enrolment of so many takes a master some 13 ms, in
 * which it does nothing else.
 */
const mostQueued = 1000;

/** What a contest works with. */
export interface Acquisition {
  readonly context: Context;
  readonly request: LockRequest;
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
export async function acquire(acquisition: Acquisition): Promise<AcquireResult> {
  const { context, request, cancellation } = acquisition;
  const { resources, settings } = request;
  const begun = context.runtime.monotonic();
  const attempts = new Attempts(context.nodes);
  const room = mayWait(settings) && resources.length <= mostQueued ? acquisition.room : undefined;
  let first: Attempt | undefined;
  if (!room?.isContended(resources) && context.admission.enter()) {
    first = await attempt(context, request, cancellation, attempts);
    if (first.lease) return { lease: first.lease, attempts };
  }
  // All else is for those who have to wait.
  const budget = new RetryBudget(context.runtime, settings, cancellation, begun);
  try {
    const trying = attemptUntilRefused(acquisition, room, budget, attempts, first);
    first = undefined;
    const tried = await trying;
    if (!("outcome" in tried)) return tried;
    budget.waitForTurn();
    const turn = await room!.wait(request, budget.ended, attempts);
    return await contestOf(turn, acquisition, tried, attempts);
  } finally {
    budget.end();
  }
}

/**
 * The attempts after the first and before the queue, or instead of the queue where there is no room to wait in. With a room
 * it comes to the refusal after which the turn is waited for. On its own, so that nothing of it is left while thousands wait.
 */
async function attemptUntilRefused(
  acquisition: Acquisition,
  room: WaitingRoom | undefined,
  budget: RetryBudget,
  attempts: Attempts,
  last: Attempt | undefined,
): Promise<AcquireResult | Failed> {
  const { context, request, cancellation } = acquisition;
  for (let previous: Failed | undefined; ; last = undefined) {
    if (!last && room?.isContended(request.resources)) return notTried(request);
    last ??= await attemptInTurn(acquisition, room, budget, attempts);
    // Others were refused while it stood in line for a place.
    if (!last && !budget.ended.reason) continue;
    if (room && (last?.outcome === "locked" || last?.outcome === "split")) {
      room.refused(request.resources);
      return failedWith(last.outcome, contentionIn(last.round.answers), request);
    }
    if (last?.outcome === "split") last = await revote(acquisition, budget, attempts, last);
    if (last?.lease) return { lease: last.lease, attempts };
    if (cancellation.reason) {
      // An aborted acquire leaves nothing behind: it waits for its roll-back, one nodeTimeout at most.
      await last?.rolledBack;
      throw cancellation.reason;
    }
    // What was asked in a database that a client has left says nothing of the one where it is now.
    if (last?.outcome === "moved" && !budget.ended.reason) continue;
    if (!last)
      return previous && !budget.lateness
        ? failure(previous, attempts)
        : crowdedOut(acquisition, budget, attempts);
    const failed = failedWith(last.outcome, contentionIn(last.round.answers), request);
    const pause = budget.pauseAfter(last);
    if (pause === undefined)
      return failure(failed, attempts, mayWait(request.settings) ? acquisition : undefined);
    previous = failed;
    // Nothing of the attempt is kept meanwhile: thousands may wait.
    last = undefined;
    await sleep(context.runtime, pause, cancellation);
    if (cancellation.reason) throw cancellation.reason;
  }
}

/**
 * Votes again after a short random time, as long as live rivals split the votes between them. A rival that asks
 * again has a new token: one that refuses twice is no rival but a lock.
 */
async function revote(
  acquisition: Acquisition,
  budget: RetryBudget,
  attempts: Attempts,
  split: Attempt,
): Promise<Attempt> {
  const { context, request } = acquisition;
  const { runtime, clock } = context;
  let last = split;
  for (let count = 1; count <= mostRevotes; count += 1) {
    const rivals = new Set(ownersIn(last.round.answers));
    // Rivals that ask again within one round trip of each other split the votes again: spread over some.
    const roundTrip = Math.max(1, clock.now() - last.round.sentAt);
    const spread = Math.min(roundTrip * 2 ** count, Math.max(request.settings.retryDelay, 50));
    await sleep(runtime, randomFraction(runtime) * spread, budget.ended);
    if (budget.ended.reason) return last;
    const next = await attemptInTurn(acquisition, undefined, budget, attempts);
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
  acquisition: Acquisition,
  room: WaitingRoom | undefined,
  budget: RetryBudget,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { context, request, cancellation } = acquisition;
  if (context.admission.enter()) return attempt(context, request, cancellation, attempts);
  return attemptFromLine(acquisition, room, budget, attempts);
}

async function attemptFromLine(
  { context, request, cancellation }: Acquisition,
  room: WaitingRoom | undefined,
  budget: RetryBudget,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { admission } = context;
  if (!(await admission.wait(budget))) return undefined;
  // Others were refused while it stood in line.
  if (!budget.ended.reason && !room?.isContended(request.resources))
    return attempt(context, request, cancellation, attempts);
  admission.leave();
  return undefined;
}

/** What came of waiting, when the lock is there or the time to wait is over. */
async function contestOf(
  { lease, contention, error }: Turn,
  acquisition: Acquisition,
  before: Failed,
  attempts: Attempts,
): Promise<AcquireResult> {
  const { request, cancellation } = acquisition;
  if (error !== undefined) throw error;
  if (lease && !cancellation.reason) return { lease, attempts };
  // Granted in the moment of giving up.
  if (lease) await release(lease, request.settings);
  if (cancellation.reason) throw cancellation.reason;
  // Where its time was over before it was its turn to ask, others were in the way.
  const failed = contention ? failedWith(contention.kind, contention, request) : before;
  return failure(failed, attempts, acquisition);
}

/** Of a tally that was not won, what is told. */
interface Failed {
  readonly outcome: Attempt["outcome"];
  readonly resource: string;
  readonly freeIn: number;
  readonly ttl: number;
}

function failedWith(
  outcome: Attempt["outcome"],
  { resource, freeIn }: Contention,
  request: LockRequest,
): Failed {
  return { outcome, resource: resource ?? userName(request.resources[0]!), freeIn, ttl: request.ttl };
}

/** Others are in the way, as far as is known. */
function notTried({ resources, ttl }: LockRequest): Failed {
  return { outcome: "locked", resource: resources[0]!, freeIn: 0, ttl };
}

/** `waited`: who has waited in vain. */
function failure(
  { outcome, resource, freeIn, ttl }: Failed,
  attempts: Attempts,
  waited?: Acquisition,
): AcquireResult {
  const contended = outcome === "locked" || outcome === "split";
  if (contended) {
    const owner = waited && ownerAmong(waited.context, resource, waited.request.resources[0]!);
    return { contended, error: new ResourceLockedError(resource, freeIn, attempts.stats, owner) };
  }
  const isLate = outcome === "late" || attempts.hadQuorum;
  const why = isLate ? "The votes came too late for any validity to remain" : "No quorum";
  const message = `${why}: ${attempts.summary}${hintFor(ttl)}`;
  return { contended, error: new ExecutionError(message, attempts.stats) };
}

/** No round could begin while it was worth waiting for one. */
function crowdedOut({ context }: Acquisition, { lateness }: RetryBudget, attempts: Attempts): AcquireResult {
  const { admission, leases } = context;
  const why = lateness
    ? `No new lock: ${leases.size} are held, and their extensions come ${Math.ceil(lateness.by)} ms late, ` +
      `more than ${Math.floor(lateness.allowed)} ms. Hold fewer in one process, or for a longer ttl`
    : `Timed out while waiting for one of ${admission.limit} rounds at a time (acquireConcurrency, or fewer where ` +
      "masters are slow)";
  return { contended: false, error: new ExecutionError(why, attempts.stats) };
}
