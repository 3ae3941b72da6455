import { Ballot } from "../protocol/ballot.ts";
import { contentionIn, ownersIn } from "../protocol/quorum.ts";
import { release } from "../protocol/release.ts";
import type { LockRequest } from "../protocol/request.ts";
import { type AcquireResult, type PlainVote, plainVote } from "../protocol/vote.ts";
import { nodeTimeoutFor } from "../settings/settings.ts";
import { randomFraction } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";
import { refused } from "../tracing/channels.ts";
import { traceRefusal } from "../tracing/traces.ts";
import { type Acquisition, Call } from "./call.ts";
import { crowdedOut, type Failed, failedWith, failure, failureAfterWait, isContended } from "./failures.ts";
import { mayWait } from "./retry-budget.ts";

/** The maximum number of immediate retries after a split vote before it counts as a failed attempt. */
const maxRevotes = 8;
/** The number of these after which the same rivals count as holders: the rollback of a live one takes its time on a busy machine. */
const maxUnchanged = 3;

/**
 * Makes attempts until one is granted or the settings allow no more. Only attempts in flight count against
 * `acquireConcurrency`; the pauses between them do not.
 *
 * Where the masters keep queues, the first refusal ends the attempts: the acquire enters the queues instead.
 * It enters them without any attempt if the resources are known to be contended.
 */
export async function acquire(acquisition: Acquisition): Promise<AcquireResult> {
  const call = new Call(acquisition);
  try {
    if (acquisition.prepare) await prepare(call, acquisition.prepare);
    const tried = await attemptUntilRefused(call);
    return tried.outcome === "over" ? tried.result : await waitInQueues(call, tried);
  } finally {
    call.end();
  }
}

/**
 * Waits for what must precede the first vote: one `nodeTimeout` within the `waitTimeout`, and half of it if the call never
 * retries, which leaves the vote as much. So the call settles within its own limits (PROTOCOL 1.10).
 */
async function prepare(call: Call, prepared: (limit: number) => Promise<void>): Promise<void> {
  const { context, request, cancellation, startedAt } = call;
  const { settings } = request;
  const { waitTimeout, nodeTimeout } = settings;
  const time = nodeTimeoutFor(request.ttl, settings);
  const retries = mayWait(settings);
  await cancellation.race(prepared(retries ? Math.min(time, waitTimeout ?? time) : time / 2));
  if (cancellation.reason) throw cancellation.reason;
  if (nodeTimeout === undefined || retries) return;
  const waited = context.runtime.monotonic() - startedAt;
  const left = Math.ceil(Math.max(time - waited, time / 2));
  call.request = { ...request, settings: { ...settings, nodeTimeout: left } };
}

/**
 * Makes attempts until a refusal sends the call to the queues, or until the end if there are no queues. A function of its own,
 * so that none of its variables stay in memory while thousands of calls wait.
 */
async function attemptUntilRefused(call: Call): Promise<Tried> {
  const { context, request, cancellation, queues, attempts } = call;
  for (let previous: Failed | undefined; ; ) {
    // A call of this Redlock was refused lately: nothing is asked outside of the queues.
    if (call.isContended)
      return { outcome: "locked", resource: request.resources[0]!, freeIn: 0, ttl: request.ttl };
    let last = await attemptIfAdmitted(call, false);
    if (last?.ballot.lease) return over({ lease: last.ballot.lease, attempts });
    const { budget } = call;
    // Not asked, and in time: others were refused while this call waited for admission.
    if (!last && !budget.ended.isOver) continue;
    // (Where no quorum answers, an entry would only keep others out: such a call retries, PROTOCOL 7.12.)
    if (queues && (last?.outcome === "locked" || last?.outcome === "split")) {
      queues.onRefused(request.resources);
      const { ballot, outcome, round } = last;
      return { ...failedWith(outcome, contentionIn(round.answers), request), ballot };
    }
    if (last?.outcome === "split") last = await revote(call, last);
    if (last?.ballot.lease) return over({ lease: last.ballot.lease, attempts });
    if (cancellation.reason) {
      // The rollback of an aborted acquire is awaited, for one nodeTimeout at most.
      await last?.rolledBack;
      throw cancellation.reason;
    }
    // Answers from a previous database say nothing about the current one.
    if (last?.outcome === "moved" && !budget.ended.isOver) continue;
    // No further attempt was admitted in time: the call fails by what the one before has found, if there was one.
    if (!last && previous && !budget.lateness) return over(failure(call, previous));
    if (!last) return over(crowdedOut(call));
    const failed = failedWith(last.outcome, contentionIn(last.round.answers), request);
    const pause = budget.pauseAfter(last.round.answers);
    if (pause === undefined && !mayWait(request.settings)) return over(failure(call, failed));
    if (pause === undefined) return over(await failureAfterWait(call, failed));
    const isHeld = isContended(last);
    if (isHeld && refused.hasSubscribers) traceRefusal(request, failed.resource, true);
    // PROTOCOL 10.8: not while it could not be granted.
    if (isHeld) request.mark?.keep();
    else request.mark?.remove();
    previous = failed;
    // The attempt is released before the pause: thousands may wait.
    last = undefined;
    await sleep(context.runtime, pause, cancellation);
    if (cancellation.reason) throw cancellation.reason;
  }
}

/**
 * Votes again after a short random time, as long as live rivals split the votes. A rival that retries has a
 * new token: a token that stays belongs to a held lock.
 */
async function revote(call: Call, split: PlainVote): Promise<PlainVote> {
  const { context, request, attempts, budget } = call;
  const { runtime, clock } = context;
  let last = split;
  let unchanged = 0;
  for (let count = 1; count <= maxRevotes; count += 1) {
    const rivals = new Set(ownersIn(last.round.answers));
    // Rivals that retry within one round trip of each other split the votes again: the retries are spread
    // over several.
    const roundTrip = Math.max(1, clock.now() - last.round.sentAt);
    const spread = Math.min(roundTrip * 2 ** count, Math.max(request.settings.retryDelay, 50));
    await sleep(runtime, randomFraction(runtime) * spread, budget.ended);
    if (budget.ended.isOver) return last;
    attempts.continueAttempt();
    const next = await attemptIfAdmitted(call, true);
    if (!next) return last;
    last = next;
    if (last.outcome !== "split") return last;
    unchanged = ownersIn(last.round.answers).every((owner) => rivals.has(owner)) ? unchanged + 1 : 0;
    if (unchanged === maxUnchanged) return last;
  }
  return last;
}

/**
 * Makes one attempt once admitted. `undefined` if admission came too late, or if a refusal is likely and
 * there are queues to wait in. `isRevote`: even then.
 */
function attemptIfAdmitted(call: Call, isRevote: boolean): Promise<PlainVote | undefined> {
  const { context, request, cancellation, attempts } = call;
  if (context.admission.enter()) return plainVote(context, request, cancellation, attempts);
  return attemptWhenAdmitted(call, isRevote);
}

async function attemptWhenAdmitted(call: Call, isRevote: boolean): Promise<PlainVote | undefined> {
  const { context, request, cancellation, attempts, budget } = call;
  const { admission } = context;
  // PROTOCOL 12.10: within the time of this call. The user's backoff may throw here, before the call is admitted.
  budget.startAdmissionWait(() => admission.answeredAt);
  if (!(await admission.wait(budget))) return undefined;
  let asked: LockRequest | undefined;
  try {
    budget.endAdmissionWait();
    // Others may have been refused meanwhile.
    if (!budget.ended.isOver && (isRevote || !call.isContended)) asked = budget.inTime(request);
  } finally {
    if (!asked) admission.leave();
  }
  return asked && plainVote(context, asked, cancellation, attempts);
}

/** Waits in the queues until the lock is granted, or the time is over. */
async function waitInQueues(call: Call, tried: Failed): Promise<AcquireResult> {
  const { context, request, cancellation, attempts, budget } = call;
  if (refused.hasSubscribers) traceRefusal(request, tried.resource, true);
  budget.useTimeLimit();
  // A ballot that was refused goes on as the waiter, in its next round.
  const ballot = tried.ballot ?? new Ballot(context, request, attempts);
  const { lease, contention, error } = await call.queues!.wait(ballot, budget, call.calledAt);
  attempts.countWait(budget.retriesWaited);
  if (error !== undefined) throw error;
  if (lease && !cancellation.isOver) return { lease, attempts };
  // Granted at the moment of giving up.
  if (lease) await release(lease, request.settings);
  if (cancellation.reason) throw cancellation.reason;
  // The time ended before the call could ask: others hold the lock.
  return failureAfterWait(call, contention ? failedWith(contention.kind, contention, request) : tried);
}

/** A refusal that leads to the queues, or the result of a call that does not wait there. */
type Tried = Failed | { readonly outcome: "over"; readonly result: AcquireResult };

function over(result: AcquireResult): Tried {
  return { outcome: "over", result };
}
