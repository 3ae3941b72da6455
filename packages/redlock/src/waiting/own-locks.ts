import type { Context } from "../protocol/context.ts";

/**
 * The owner named in a ResourceLockedError, if a lock of the same Redlock was in the way; otherwise `undefined`. Checks
 * all held locks, so it is only called after waiting in vain.
 */
export function ownerAmong({ leases, isReentrant }: Context, refused: string): string | undefined {
  for (const { resources } of leases)
    if (resources.includes(refused)) return isReentrant ? notNested : ownLock;
  return undefined;
}

const ownLock =
  "this same Redlock (a call nested in that lock waits for itself; the option reentrant allows it)";
const notNested =
  "this same Redlock (to nest the call in that lock, make it in its routine or pass the lock as parent)";
