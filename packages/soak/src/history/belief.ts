import type { Hold } from "./history.ts";
import { type Overlap, overlapsAmong } from "./spans.ts";

/** When two holders of one key both believed that they held it. The holds are those of one key. */
export function overlapsOfBelief(holds: readonly Hold[]): Overlap[] {
  return overlapsAmong(
    holds.map((hold) => ({
      id: hold.id,
      from: hold.grantedAt,
      until: endOfBelief(hold),
      share: hold.share,
    })),
  );
}

/** The moment from which `remaining()` would return 0: after a release, an abort of the signal, or the expiry. */
function endOfBelief({ believedUntil, toldAt, releasedAt }: Hold): number {
  return Math.min(believedUntil, toldAt ?? believedUntil, releasedAt ?? believedUntil);
}
