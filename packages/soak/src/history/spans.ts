/** A stretch of time on one key; two that only touch do not overlap. */
export interface Span {
  readonly id: string;
  readonly from: number;
  readonly until: number;
}

export interface Overlap {
  readonly earlier: string;
  readonly later: string;
  /** When the later one began. */
  readonly at: number;
  /** For so long both were there, ms. */
  readonly lasted: number;
}

/** Each span that begins while an earlier one lasts, with the one of those that lasts longest. */
export function overlapsAmong(spans: readonly Span[]): Overlap[] {
  const overlaps: Overlap[] = [];
  let longest: Span | undefined;
  for (const span of [...spans].filter(isSome).sort((a, b) => a.from - b.from || a.until - b.until)) {
    if (longest && span.from < longest.until) {
      const lasted = Math.min(longest.until, span.until) - span.from;
      overlaps.push({ earlier: longest.id, later: span.id, at: span.from, lasted });
    }
    if (!longest || span.until > longest.until) longest = span;
  }
  return overlaps;
}

/** One that ends before it begins was over when it came. */
function isSome({ from, until }: Span): boolean {
  return until >= from;
}
