import { wholeKey } from "./history.ts";

/** A stretch of time on one key; two that only touch do not overlap. */
export interface Span {
  readonly id: string;
  /** See `Hold.share`. */
  readonly share?: number | undefined;
  readonly from: number;
  readonly until: number;
}

export interface Overlap {
  readonly earlier: string;
  readonly later: string;
  /** The start of the later one. */
  readonly at: number;
  /** The duration of the overlap, ms. */
  readonly lasted: number;
}

/** Each span that starts while earlier ones leave no share for it, with the longest of those. */
export function overlapsAmong(spans: readonly Span[]): Overlap[] {
  const overlaps: Overlap[] = [];
  let open: Span[] = [];
  for (const span of [...spans].filter(isSome).sort((a, b) => a.from - b.from || a.until - b.until)) {
    open = open.filter(({ until }) => until > span.from);
    const taken = open.reduce((sum, { share = wholeKey }) => sum + share, 0);
    if (open.length > 0 && taken + (span.share ?? wholeKey) > wholeKey) {
      const longest = open.reduce((a, b) => (b.until > a.until ? b : a));
      const lasted = Math.min(longest.until, span.until) - span.from;
      overlaps.push({ earlier: longest.id, later: span.id, at: span.from, lasted });
    }
    open.push(span);
  }
  return overlaps;
}

/** One that ends before it begins was over when it came. */
function isSome({ from, until }: Span): boolean {
  return until >= from;
}
