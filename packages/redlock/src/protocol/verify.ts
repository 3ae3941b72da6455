import { ExecutionError } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { confirm } from "./confirm.ts";
import { Attempts } from "./execution-stats.ts";
import type { Lease } from "./lease.ts";
import { isRefused, verdictOf } from "./tally.ts";

/**
 * Asks the masters, now, whether a quorum still holds the token: an extension by 1 ms without repair, which
 * changes nothing (PROTOCOL 14.1, 14.14). Each yes tells how long the key still lives, which is how a resumed
 * lease learns what it has.
 */
export async function verify(lease: Lease, settings: Settings): Promise<boolean> {
  if (lease.lost || lease.hasEnded) return false;
  const attempts = new Attempts(lease.coordinator.nodes);
  const ballot = await confirm(lease, { ttl: 1, repair: false, settings }, attempts, new Cancellation());
  if (verdictOf(ballot) === "won") return lease.remaining() > 0;
  if (isRefused(ballot) || lease.hasEnded) return false;
  throw new ExecutionError(`No quorum told whether the lock is held: ${attempts.summary}`, attempts.stats);
}
