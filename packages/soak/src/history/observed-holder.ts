import type { Hold } from "./history.ts";
import { type Overlap, overlapsAmong } from "./spans.ts";

/** The overlaps of the intervals in which two holders of one key both observed it as held. */
export function overlapsOfHolders(holds: readonly Hold[]): Overlap[] {
  return overlapsAmong(
    holds.map((hold) => ({
      id: hold.id,
      from: hold.grantedAt,
      until: endOfValidity(hold),
      share: hold.share,
    })),
  );
}

/** The moment from which `remaining()` would return 0: after a release, an abort of the signal, or the expiry. */
function endOfValidity({ validUntil, notifiedAt, releasedAt }: Hold): number {
  return Math.min(validUntil, notifiedAt ?? validUntil, releasedAt ?? validUntil);
}
