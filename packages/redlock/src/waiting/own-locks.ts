import type { Context } from "../protocol/context.ts";
import { isReadClaim, userName } from "../resource-names.ts";

/**
 * The owner that a ResourceLockedError names, where a lock of this same Redlock was in the way; `undefined` where none
 * was. Looks at all locks that are held: only for calls that have waited in vain.
 *
 * @param refused as the masters name it: of readers and writers the name of what they have locked, which is no resource.
 * @param wanted what was asked for.
 */
export function ownerAmong(context: Context, refused: string, wanted: string): string | undefined {
  const own = [...context.leases].flatMap(({ resources }) => resources);
  const inTheWay = own.filter((resource) => userName(resource) === refused);
  if (inTheWay.length === 0) return undefined;
  if (userName(wanted) === wanted) return context.isReentrant ? notInside : ofItself;
  // Readers let readers in: only a writer that waits for them keeps a further one out.
  return isReadClaim(wanted) && inTheWay.every(isReadClaim) ? waitingWriter : ofReadersAndWriters;
}

const ofItself =
  "this same Redlock (a call from inside of that lock waits for itself; the option reentrant lets it in)";
const notInside = "this same Redlock (to be inside of that lock, use its routine or name it: parent)";
const ofReadersAndWriters =
  "this same Redlock (a call from inside of that lock waits for itself: readers and writers cannot be nested)";
const waitingWriter = "a writer that waits until this same Redlock has stopped reading";
