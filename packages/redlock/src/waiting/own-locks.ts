import type { Context } from "../protocol/context.ts";
import { isAwaitedByRoutineOf } from "../time/async-context.ts";

/** A holder, for a {@link ResourceLockedError}: another call of the same Redlock. */
export const ownCall = "another call of this same Redlock";

/**
 * The owner named in a ResourceLockedError, if a lock of the same Redlock was in the way; otherwise `undefined`. Checks
 * all held locks, so it is only called after waiting in vain.
 */
export function ownerAmong({ leases, isReentrant }: Context, refused: string): string | undefined {
  const lease = [...leases].find(({ resources }) => resources.includes(refused));
  if (!lease || !isAwaitedByRoutineOf(lease.resources)) return lease && ownCall;
  const remedy = isReentrant ? "pass its lock as parent" : "the option reentrant allows it";
  return `this same Redlock (its routine waits for this call: ${remedy})`;
}
