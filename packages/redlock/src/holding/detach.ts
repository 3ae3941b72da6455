import { RoundClaim } from "../protocol/claim.ts";
import type { Lease } from "../protocol/lease.ts";
import { nodeTimeoutFor, type Settings } from "../settings/settings.ts";
import type { DetachedLock } from "./lock.ts";

/**
 * Detaches a lease: PROTOCOL 5.5 to 5.8. The lease has ended before, so no unsent command of it will be sent.
 *
 * Earlier commands may still be on their way: a vote, a repairing extension, a queue entry. None of them may
 * execute after the receiver has the lock: the receiver's release would come first, and a key without an
 * owner would remain. Connections are FIFO, so a final question is answered after all of them. The question
 * is an extension by 1 ms without repair, which changes nothing.
 */
export async function detach(lease: Lease, settings: Settings): Promise<DetachedLock> {
  const { resources, token: value, ttl, fencingToken } = lease;
  const timeout = nodeTimeoutFor(ttl, settings);
  const round = new RoundClaim(lease.votes, 1).round(lease.context, "extend", { timeout });
  await round.ask().closed.done;
  return { resources, value, ttl, ...(fencingToken === undefined ? {} : { fencingToken }) };
}
