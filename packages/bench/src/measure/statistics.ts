/** What a sample of a noisy quantity says. */
export interface Summary {
  readonly count: number;
  readonly median: number;
  readonly p10: number;
  readonly p90: number;
  /** Between these lies the true median with 95 % confidence, whatever the distribution. */
  readonly low: number;
  readonly high: number;
}

/** The value below which the fraction `p` of `sorted` lies; NaN for no values. */
export function quantile(sorted: readonly number[], p: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * p;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  // An operation that failed counts as infinitely long: infinity less infinity is no number.
  return below === above ? below : below + (above - below) * (place - Math.floor(place));
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

export function summaryOf(values: readonly number[]): Summary {
  const sorted = ascending(values);
  const { length } = sorted;
  // How many of n values lie below the true median is binomial: n/2 give or take 1.96 * sqrt(n)/2.
  const reach = 0.98 * Math.sqrt(length);
  const low = sorted[Math.max(0, Math.floor(length / 2 - reach))] ?? Number.NaN;
  const high = sorted[Math.min(length - 1, Math.ceil(length / 2 + reach))] ?? Number.NaN;
  return {
    count: length,
    median: quantile(sorted, 0.5),
    p10: quantile(sorted, 0.1),
    p90: quantile(sorted, 0.9),
    low,
    high,
  };
}

/** Each value over the one measured beside it: what made both slow alike falls out. */
export function pairwiseRatios(values: readonly number[], baseline: readonly number[]): number[] {
  if (values.length !== baseline.length) {
    throw new RangeError(`pairs need as many values as baselines: ${values.length} and ${baseline.length}`);
  }
  return values.map((value, index) => value / baseline[index]!);
}

/** Jain's index of fairness: 1 when all have the same, 1/n when one has everything; NaN when nobody has anything. */
export function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return (sum * sum) / (shares.length * squares);
}

function ascending(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}
