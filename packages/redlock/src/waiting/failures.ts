import { ExecutionError, type Owner, ResourceLockedError } from "../errors.ts";
import type { Ballot } from "../protocol/ballot.ts";
import type { Context } from "../protocol/context.ts";
import type { Contention } from "../protocol/quorum.ts";
import type { LockRequest } from "../protocol/request.ts";
import { foreignIn, tagIn } from "../protocol/token.ts";
import type { AcquireResult, PlainVote } from "../protocol/vote.ts";
import { hintFor, nodeTimeoutFor } from "../settings/settings.ts";
import { isAwaitedByRoutineOf } from "../time/async-context.ts";
import { refused } from "../tracing/channels.ts";
import { traceRefusal } from "../tracing/traces.ts";
import type { Call } from "./call.ts";

/** A holder, for a {@link ResourceLockedError}: another call of the same Redlock. */
export const ownCall = "another call of this same Redlock";

/** A failed tally, for the error. */
export interface Failed {
  readonly outcome: PlainVote["outcome"];
  readonly resource: string;
  readonly freeIn: number;
  readonly ttl: number;
  /** The masked token of the owner. */
  readonly owner?: string | undefined;
  /** It goes on in the queues. */
  readonly ballot?: Ballot;
}

export function failedWith(
  outcome: PlainVote["outcome"],
  { resource, owner, freeIn }: Contention,
  request: LockRequest,
): Failed {
  return { outcome, resource: resource ?? request.resources[0]!, owner, freeIn, ttl: request.ttl };
}

/**
 * The error of an acquire that has waited in vain: one read finds the name of the owner. It settles within the limits of
 * the call, and what fails leaves the owner without a name.
 */
export async function failureAfterWait(call: Call, failed: Failed): Promise<AcquireResult> {
  const { context, request, cancellation, startedAt } = call;
  const holder = isContended(failed) ? ownerAmong(context, failed.resource) : undefined;
  const { owners, runtime } = context;
  if (!owners || !isContended(failed)) return failure(call, failed, holder);
  if (holder !== undefined) return failure(call, failed, holder, owners.self);
  const { ttl, settings } = request;
  const { waitTimeout = Number.POSITIVE_INFINITY } = settings;
  const nodeTimeout = nodeTimeoutFor(ttl, settings);
  // PROTOCOL 1.10: the call settles within its `waitTimeout` and one `nodeTimeout`.
  const left = Math.floor(startedAt + waitTimeout + nodeTimeout - runtime.monotonic());
  const tag = tagIn(failed.owner);
  const isInTime = tag !== undefined && left > 0;
  const owner = isInTime ? await owners.ownerOf(tag, Math.min(left, nodeTimeout), cancellation) : undefined;
  if (cancellation.reason) throw cancellation.reason;
  return failure(call, failed, undefined, owner);
}

export function isContended({ outcome }: Pick<Failed, "outcome">): boolean {
  return outcome === "locked" || outcome === "split";
}

export function failure(call: Call, failed: Failed, holder?: string, owner?: Owner): AcquireResult {
  const { request, attempts } = call;
  const { resource, freeIn, ttl } = failed;
  const contended = isContended(failed);
  if (contended) {
    if (refused.hasSubscribers) traceRefusal(request, resource, false);
    const foreign = foreignIn(failed.owner, freeIn);
    const who = foreign === undefined ? holder : `something that is no lock (${foreign})`;
    return { contended, error: new ResourceLockedError(resource, freeIn, attempts.stats, who, owner) };
  }
  const why = attempts.hadQuorum ? "The votes came too late for any validity to remain" : "No quorum";
  const message = `${why}: ${attempts.summary}${hintFor(ttl)}`;
  return { contended, error: new ExecutionError(message, attempts.stats) };
}

/** No attempt was admitted in time. */
export function crowdedOut({ context, budget, attempts }: Call): AcquireResult {
  const { lateness } = budget;
  const { admission, leases } = context;
  const why = lateness
    ? `No new lock: ${leases.size} are held, and their extensions are ${Math.ceil(lateness.by)} ms late, ` +
      `above the limit of ${Math.floor(lateness.allowed)} ms. Hold fewer locks in one process, or use a longer ttl`
    : `Timed out waiting for admission: ${admission.limit} may ask the masters at a time (acquireConcurrency, or fewer ` +
      "while masters are slow)";
  return { contended: false, error: new ExecutionError(why, attempts.stats) };
}

/**
 * The owner named in a ResourceLockedError, if a lock of the same Redlock was in the way; otherwise `undefined`. Checks
 * all held locks, so it is only called after waiting in vain.
 */
function ownerAmong({ leases, isReentrant }: Context, refused: string): string | undefined {
  const lease = [...leases].find(({ resources }) => resources.includes(refused));
  if (!lease || !isAwaitedByRoutineOf(lease.resources)) return lease && ownCall;
  const remedy = isReentrant ? "pass its lock as parent" : "the option reentrant allows it";
  return `this same Redlock (its routine waits for this call: ${remedy})`;
}
