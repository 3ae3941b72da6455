import { DefaultMap } from "../default-map.ts";
import type { Hold, Overlap, Pause, Span } from "./picture.ts";

interface HeldSpan {
  readonly hold: number;
  readonly from: number;
  readonly until: number;
}

/**
 * The times at which two clients observed that they hold one resource. A suspended client cannot act, and learns the
 * time as soon as it is awake: suspended time does not count, as in the checker.
 */
export function overlapsOf(
  holds: readonly Hold[],
  pausesOf: (client: number) => readonly Pause[],
): Overlap[] {
  const byResource = new DefaultMap<number, HeldSpan[]>(() => []);
  for (const [index, { client, resources, beliefs }] of holds.entries()) {
    const asleep = pausesOf(client).filter(([, , how]) => how === "suspended");
    const awake = beliefs.flatMap((span) => without(span, asleep));
    for (const resource of resources) {
      const list = byResource.get(resource);
      for (const [from, until] of awake) list.push({ hold: index, from, until });
    }
  }
  return [...byResource].flatMap(([resource, beliefs]) => pairs(resource, beliefs)).sort(byBeginning);
}

function pairs(resource: number, beliefs: HeldSpan[]): Overlap[] {
  const found: Overlap[] = [];
  let standing: HeldSpan[] = [];
  for (const span of beliefs.sort(byBeginning)) {
    standing = standing.filter(({ until }) => until > span.from);
    for (const { hold, until } of standing) {
      if (hold === span.hold) continue;
      const end = Math.min(until, span.until);
      if (end > span.from) found.push({ resource, holds: [hold, span.hold], from: span.from, until: end });
    }
    standing.push(span);
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
