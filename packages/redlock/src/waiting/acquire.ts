import { ExecutionError, type Owner, ResourceLockedError } from "../errors.ts";
import type { Admission } from "../load/admission.ts";
import { Ballot } from "../protocol/ballot.ts";
import type { Context } from "../protocol/context.ts";
import { Attempts } from "../protocol/execution-stats.ts";
import { type Contention, contentionIn, ownersIn } from "../protocol/quorum.ts";
import { release } from "../protocol/release.ts";
import type { LockRequest } from "../protocol/request.ts";
import { foreignIn, tagIn } from "../protocol/token.ts";
import { type AcquireResult, type Attempt, attempt } from "../protocol/vote.ts";
import { hintFor, nodeTimeoutFor } from "../settings/settings.ts";
import type { Cancellation } from "../time/cancellation.ts";
import { randomFraction } from "../time/runtime.ts";
import { sleep } from "../time/sleep.ts";
import { refused } from "../tracing/channels.ts";
import { traceRefusal } from "../tracing/traces.ts";
import type { WaitResult } from "./local-queue.ts";
import type { LocalQueues } from "./local-queues.ts";
import { ownerAmong } from "./own-locks.ts";
import { mayWait, RetryBudget } from "./retry-budget.ts";

/** The maximum number of immediate retries after a split vote before it counts as a failed attempt. */
const maxRevotes = 8;
/** The number of these after which the same rivals count as holders: the rollback of a live one takes its time on a busy machine. */
const maxUnchanged = 3;

/**
 * The maximum number of resources in a queue entry. An entry for 1000 takes a master about 13 ms without
 * interruption; locks of more resources wait by retrying instead.
 */
const maxQueuedResources = 1000;

/** The parameters of one acquire. */
export interface Acquisition {
  readonly context: Context & { readonly admission: Admission };
  readonly request: LockRequest;
  /** Cancelled by the caller's signal or by `quit`. */
  readonly cancellation: Cancellation;
  /** The queues to wait in; `undefined` if waiting means retrying. */
  readonly queues: LocalQueues | undefined;
  /** Precedes the first vote; it gets the time that the call has for it, ms. */
  readonly prepare?: (limit: number) => Promise<void>;
}

/**
 * Makes attempts until one is granted or the settings allow no more. Only attempts in flight count against
 * `acquireConcurrency`; the pauses between them do not.
 *
 * Where the masters keep queues, the first refusal ends the attempts: the acquire enters the queues instead.
 * It enters them without any attempt if the resources are known to be contended.
 */
export async function acquire(asked: Acquisition): Promise<AcquireResult> {
  let acquisition = asked;
  const { context, cancellation, prepare } = asked;
  const { resources, settings } = asked.request;
  const startedAt = context.runtime.monotonic();
  const attempts = new Attempts(context.nodes);
  const queues = mayWait(settings) && resources.length <= maxQueuedResources ? acquisition.queues : undefined;
  // PROTOCOL 7.2: the ticket belongs to the call from here on. (A small number takes no memory meanwhile.)
  let sinceStart = 0;
  if (queues) {
    const { clock } = queues;
    clock.latestCall = Math.max(Math.floor(startedAt * 1000), clock.latestCall + 1);
    sinceStart = clock.latestCall - Math.floor(startedAt * 1000);
  }
  if (prepare) acquisition = await prepared(asked, prepare, startedAt);
  const { request } = acquisition;
  let firstAttempt: Attempt | undefined;
  if (!queues?.isContended(resources) && context.admission.enter()) {
    firstAttempt = await attempt(context, request, cancellation, attempts);
    const { lease } = firstAttempt.ballot;
    if (lease) return { lease, attempts };
  }
  // The uncontended case ends above; the rest is for calls that wait: others see in which place and who they are.
  if (mayWait(settings)) context.owners?.begin();
  const budget = new RetryBudget(context.runtime, settings, cancellation, startedAt);
  try {
    const trying = attemptUntilRefused(acquisition, queues, budget, attempts, startedAt, firstAttempt);
    firstAttempt = undefined;
    const tried = await trying;
    if (tried.outcome === "over") return tried.result;
    if (refused.hasSubscribers) traceRefusal(request, tried.resource, true);
    budget.useTimeLimit();
    const call = Math.floor(startedAt * 1000) + sinceStart;
    // A ballot that was refused goes on as the waiter, in its next round.
    const ballot = tried.ballot ?? new Ballot(context, request, attempts);
    const result = await queues!.wait(ballot, budget.ended, call);
    attempts.countWait(budget.retriesWaited);
    return await resultOf(result, acquisition, tried, attempts, startedAt);
  } finally {
    request.mark?.remove();
    budget.end();
  }
}

/**
 * Waits for what must precede the first vote: one `nodeTimeout` within the `waitTimeout`, and half of it if the call never
 * retries, which leaves the vote as much. So the call settles within its own limits (PROTOCOL 1.10).
 */
async function prepared(
  acquisition: Acquisition,
  prepare: (limit: number) => Promise<void>,
  startedAt: number,
): Promise<Acquisition> {
  const { context, request, cancellation } = acquisition;
  const { settings } = request;
  const { waitTimeout, nodeTimeout } = settings;
  const time = nodeTimeoutFor(request.ttl, settings);
  const retries = mayWait(settings);
  await cancellation.race(prepare(retries ? Math.min(time, waitTimeout ?? time) : time / 2));
  if (cancellation.reason) throw cancellation.reason;
  if (nodeTimeout === undefined || retries) return acquisition;
  const waited = context.runtime.monotonic() - startedAt;
  const left = Math.ceil(Math.max(time - waited, time / 2));
  return { ...acquisition, request: { ...request, settings: { ...settings, nodeTimeout: left } } };
}

/**
 * Makes the attempts after the first, until a refusal sends the call to the queues, or until the end if there
 * are no queues. A function of its own, so that none of its variables stay in memory while thousands of calls
 * wait.
 */
async function attemptUntilRefused(
  acquisition: Acquisition,
  queues: LocalQueues | undefined,
  budget: RetryBudget,
  attempts: Attempts,
  startedAt: number,
  last: Attempt | undefined,
): Promise<Tried> {
  const { context, request, cancellation } = acquisition;
  for (let previous: Failed | undefined; ; last = undefined) {
    // Others hold the lock: nothing is asked.
    if (!last && queues?.isContended(request.resources))
      return { outcome: "locked", resource: request.resources[0]!, freeIn: 0, ttl: request.ttl };
    last ??= await attemptIfAdmitted(acquisition, queues, budget, attempts);
    // Others were refused while this call waited for admission.
    if (!last && !budget.ended.isOver) continue;
    if (queues && (last?.outcome === "locked" || last?.outcome === "split")) {
      queues.onRefused(request.resources);
      const { ballot, outcome, round } = last;
      return { ...failedWith(outcome, contentionIn(round.answers), request), ballot };
    }
    if (last?.outcome === "split") last = await revote(acquisition, budget, attempts, last);
    if (last?.ballot.lease) return over({ lease: last.ballot.lease, attempts });
    if (cancellation.reason) {
      // The rollback of an aborted acquire is awaited, for one nodeTimeout at most.
      await last?.rolledBack;
      throw cancellation.reason;
    }
    // Answers from a previous database say nothing about the current one.
    if (last?.outcome === "moved" && !budget.ended.isOver) continue;
    if (!last && previous && !budget.lateness) return over(failure(request, previous, attempts));
    if (!last) return over(crowdedOut(acquisition, budget, attempts));
    const failed = failedWith(last.outcome, contentionIn(last.round.answers), request);
    const pause = budget.pauseAfter(last);
    if (pause === undefined && !mayWait(request.settings)) return over(failure(request, failed, attempts));
    if (pause === undefined) return over(await failureAfterWait(failed, attempts, acquisition, startedAt));
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
async function revote(
  acquisition: Acquisition,
  budget: RetryBudget,
  attempts: Attempts,
  split: Attempt,
): Promise<Attempt> {
  const { context, request } = acquisition;
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
    const next = await attemptIfAdmitted(acquisition, undefined, budget, attempts);
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
 * there are queues to wait in.
 */
function attemptIfAdmitted(
  acquisition: Acquisition,
  queues: LocalQueues | undefined,
  budget: RetryBudget,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { context, request, cancellation } = acquisition;
  if (context.admission.enter()) return attempt(context, request, cancellation, attempts);
  return attemptWhenAdmitted(acquisition, queues, budget, attempts);
}

async function attemptWhenAdmitted(
  { context, request, cancellation }: Acquisition,
  queues: LocalQueues | undefined,
  budget: RetryBudget,
  attempts: Attempts,
): Promise<Attempt | undefined> {
  const { admission } = context;
  // PROTOCOL 12.10: within the time of this call. The user's backoff may throw here, before the call is admitted.
  budget.startAdmissionWait(() => admission.answeredAt);
  if (!(await admission.wait(budget))) return undefined;
  let asked: LockRequest | undefined;
  try {
    budget.endAdmissionWait();
    // Others may have been refused meanwhile.
    if (!budget.ended.isOver && !queues?.isContended(request.resources)) asked = budget.inTime(request);
  } finally {
    if (!asked) admission.leave();
  }
  return asked && attempt(context, asked, cancellation, attempts);
}

/** The result of waiting in the queues. */
async function resultOf(
  { lease, contention, error }: WaitResult,
  acquisition: Acquisition,
  before: Failed,
  attempts: Attempts,
  startedAt: number,
): Promise<AcquireResult> {
  const { request, cancellation } = acquisition;
  if (error !== undefined) throw error;
  if (lease && !cancellation.isOver) return { lease, attempts };
  // Granted at the moment of giving up.
  if (lease) await release(lease, request.settings);
  if (cancellation.reason) throw cancellation.reason;
  // The time ended before the call could ask: others hold the lock.
  const failed = contention ? failedWith(contention.kind, contention, request) : before;
  return failureAfterWait(failed, attempts, acquisition, startedAt);
}

/** A refusal that leads to the queues, or the result of a call that does not wait there. */
type Tried = Failed | { readonly outcome: "over"; readonly result: AcquireResult };

function over(result: AcquireResult): Tried {
  return { outcome: "over", result };
}

/** A failed tally, for the error. */
interface Failed {
  readonly outcome: Attempt["outcome"];
  readonly resource: string;
  readonly freeIn: number;
  readonly ttl: number;
  /** The masked token of the owner. */
  readonly owner?: string | undefined;
  /** It goes on in the queues. */
  readonly ballot?: Ballot;
}

function failedWith(
  outcome: Attempt["outcome"],
  { resource, owner, freeIn }: Contention,
  request: LockRequest,
): Failed {
  return { outcome, resource: resource ?? request.resources[0]!, owner, freeIn, ttl: request.ttl };
}

/**
 * The error of an acquire that has waited in vain: one read finds the name of the owner. It settles within the limits of
 * the call, and what fails leaves the owner without a name.
 */
async function failureAfterWait(
  failed: Failed,
  attempts: Attempts,
  { context, request, cancellation }: Acquisition,
  startedAt: number,
): Promise<AcquireResult> {
  const holder = isContended(failed) ? ownerAmong(context, failed.resource) : undefined;
  const { owners, runtime } = context;
  if (!owners || !isContended(failed)) return failure(request, failed, attempts, holder);
  if (holder !== undefined) return failure(request, failed, attempts, holder, owners.self);
  const { ttl, settings } = request;
  const { waitTimeout = Number.POSITIVE_INFINITY } = settings;
  const nodeTimeout = nodeTimeoutFor(ttl, settings);
  // PROTOCOL 1.10: the call settles within its `waitTimeout` and one `nodeTimeout`.
  const left = Math.floor(startedAt + waitTimeout + nodeTimeout - runtime.monotonic());
  const tag = tagIn(failed.owner);
  const isInTime = tag !== undefined && left > 0;
  const owner = isInTime ? await owners.ownerOf(tag, Math.min(left, nodeTimeout), cancellation) : undefined;
  if (cancellation.reason) throw cancellation.reason;
  return failure(request, failed, attempts, undefined, owner);
}

function isContended({ outcome }: Pick<Failed, "outcome">): boolean {
  return outcome === "locked" || outcome === "split";
}

function failure(
  request: LockRequest,
  failed: Failed,
  attempts: Attempts,
  holder?: string,
  owner?: Owner,
): AcquireResult {
  const { outcome, resource, freeIn, ttl } = failed;
  const contended = isContended(failed);
  if (contended) {
    if (refused.hasSubscribers) traceRefusal(request, resource, false);
    const foreign = foreignIn(failed.owner, freeIn);
    const who = foreign === undefined ? holder : `something that is no lock (${foreign})`;
    return { contended, error: new ResourceLockedError(resource, freeIn, attempts.stats, who, owner) };
  }
  const isLate = outcome === "late" || attempts.hadQuorum;
  const why = isLate ? "The votes came too late for any validity to remain" : "No quorum";
  const message = `${why}: ${attempts.summary}${hintFor(ttl)}`;
  return { contended, error: new ExecutionError(message, attempts.stats) };
}

/** No attempt was admitted in time. */
function crowdedOut({ context }: Acquisition, { lateness }: RetryBudget, attempts: Attempts): AcquireResult {
  const { admission, leases } = context;
  const why = lateness
    ? `No new lock: ${leases.size} are held, and their extensions are ${Math.ceil(lateness.by)} ms late, ` +
      `above the limit of ${Math.floor(lateness.allowed)} ms. Hold fewer locks in one process, or use a longer ttl`
    : `Timed out waiting for admission: ${admission.limit} may ask the masters at a time (acquireConcurrency, or fewer ` +
      "while masters are slow)";
  return { contended: false, error: new ExecutionError(why, attempts.stats) };
}
