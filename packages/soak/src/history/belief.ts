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

/** From here on it would say no, if it were asked: it released, was told, or its time ran out. */
function endOfBelief({ believedUntil, toldAt, releasedAt }: Hold): number {
  return Math.min(believedUntil, toldAt ?? believedUntil, releasedAt ?? believedUntil);
}
