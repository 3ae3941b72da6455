import type { Context } from "../protocol/context.ts";
import { isReadClaim, userName } from "../resource-names.ts";

/**
 * The owner named in a ResourceLockedError, if a lock of the same Redlock was in the way; otherwise
 * `undefined`. Checks all held locks, so it is only called after waiting in vain.
 * @param refused the name in the masters' answers: for readers and writers the name of the lock, not a
 * resource.
 * @param wanted the requested resource.
 */
export function ownerAmong(context: Context, refused: string, wanted: string): string | undefined {
  const ownResources = [...context.leases].flatMap(({ resources }) => resources);
  const blocking = ownResources.filter((resource) => userName(resource) === refused);
  if (blocking.length === 0) return undefined;
  if (userName(wanted) === wanted) return context.isReentrant ? notNested : ownLock;
  // Readers do not exclude readers: only a waiting writer keeps further ones out.
  return isReadClaim(wanted) && blocking.every(isReadClaim) ? waitingWriter : ownReadWriteLock;
}

const ownLock =
  "this same Redlock (a call nested in that lock waits for itself; the option reentrant allows it)";
const notNested =
  "this same Redlock (to nest the call in that lock, make it in its routine or pass the lock as parent)";
const ownReadWriteLock =
  "this same Redlock (a call nested in that lock waits for itself: readers and writers cannot be nested)";
const waitingWriter = "a writer that waits for the readers of this same Redlock";
