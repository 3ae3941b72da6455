import type { ExecutionResult } from "../protocol/lease.ts";
import { Lease } from "../protocol/lease.ts";
import { Released } from "../protocol/release.ts";
import type { AcquireCall, LockRequest } from "../protocol/request.ts";
import { leaseDeadline } from "../time/lease-clock.ts";

export interface HandedOff {
  /** The lease of the next call. */
  readonly successor: Lease;
  /** The result for the call that released. */
  readonly result: ExecutionResult;
}

/** A lease with at least this part of the ttl left is as good as a new one. */
const minFreshFraction = 0.9;

/**
 * A local hand-off (PROTOCOL 7.16): of a released lease hardly any time has passed, so the next call in this process gets
 * the same key under the same token until the same deadlines, and nothing is sent. Returns `undefined` if others may use
 * the token, or if the next call needs a fencing token of its own. The old lease has ended before (PROTOCOL 5.3).
 */
export function reuseLease(lease: Lease, predecessor: AcquireCall, next: AcquireCall): HandedOff | undefined {
  if (!isFresh(lease, next.request)) return undefined;
  const { context, placement, token, deadlines } = lease;
  const { nodes, runtime } = context;
  const { resources, ttl, settings } = next.request;
  const { driftFactor } = settings;
  const successor = new Lease(context, { placement, resources, token, ttl, deadlines, driftFactor });
  successor.inherit(lease);
  lease.replaceToken(context.tokens.next());
  const { latest } = predecessor.attempts;
  if (latest) next.attempts.add(latest);
  return { successor, result: new Released("released", nodes, runtime.wall(), latest) };
}

/** Whether the lease just released fits `request`: it must not last longer than requested. */
function isFresh(lease: Lease, request: LockRequest): boolean {
  if (!lease.mayBeTakenOver || lease.fencingToken !== undefined || lease.ttl > request.ttl) return false;
  // Its deadlines allow for no more drift than it was requested with.
  if (request.settings.driftFactor > lease.driftFactor) return false;
  const { clock, quorum } = lease.context;
  const left = leaseDeadline(lease.deadlines, quorum) - clock.now();
  return left >= request.ttl * minFreshFraction && left > request.settings.minimumValidity;
}
