import type { Hold, Overlap, Pause, Span } from "./picture.ts";

interface Belief {
  readonly hold: number;
  readonly from: number;
  readonly until: number;
}

/**
 * Where two holds of one resource were believed in at once. A client that is suspended cannot be asked what it
 * believes, and awake it will know better: that time does not count, as it does not for the checker.
 */
export function overlapsOf(
  holds: readonly Hold[],
  pausesOf: (client: number) => readonly Pause[],
): Overlap[] {
  const byResource = new Map<number, Belief[]>();
  for (const [index, { client, resources, beliefs }] of holds.entries()) {
    const asleep = pausesOf(client).filter(([, , how]) => how === "suspended");
    const awake = beliefs.flatMap((belief) => without(belief, asleep));
    for (const resource of resources) {
      const list = byResource.get(resource) ?? [];
      byResource.set(resource, list);
      for (const [from, until] of awake) list.push({ hold: index, from, until });
    }
  }
  return [...byResource].flatMap(([resource, beliefs]) => pairs(resource, beliefs)).sort(byBeginning);
}

function pairs(resource: number, beliefs: Belief[]): Overlap[] {
  const found: Overlap[] = [];
  let standing: Belief[] = [];
  for (const belief of beliefs.sort(byBeginning)) {
    standing = standing.filter(({ until }) => until > belief.from);
    for (const { hold, until } of standing) {
      if (hold === belief.hold) continue;
      const end = Math.min(until, belief.until);
      if (end > belief.from)
        found.push({ resource, holds: [hold, belief.hold], from: belief.from, until: end });
    }
    standing.push(belief);
  }
  return found;
}

/** The parts of a span outside of the pauses. */
function without(span: Span, pauses: readonly Pause[]): Span[] {
  let left: Span[] = [span];
  for (const [from, until] of pauses) {
    left = left.flatMap(([start, end]): Span[] => {
      const pieces: Span[] = [
        [start, Math.min(end, from)],
        [Math.max(start, until), end],
      ];
      return pieces.filter(([first, last]) => last > first);
    });
  }
  return left;
}

function byBeginning(left: { readonly from: number }, right: { readonly from: number }): number {
  return left.from - right.from;
}
