import { setImmediate as nextTurn } from "node:timers/promises";

/** The median of a noisy quantity with its confidence interval: see {@link spreadOf}. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

/** The value below which the fraction `p` of `sorted` lies; NaN for no values. */
export function quantile(sorted: readonly number[], p: number): number {
  if (sorted.length === 0) return Number.NaN;
  const place = (sorted.length - 1) * p;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  // A failed operation counts as infinite, and infinity minus infinity is NaN.
  return below === above ? below : below + (above - below) * (place - Math.floor(place));
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

/**
 * The median with its 95 % confidence interval, for any distribution. For seven values or fewer the interval is the
 * minimum and the maximum.
 */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = ascending(values);
  const { length } = sorted;
  // The number of values below the true median is binomial: n/2 +- 1.96 * sqrt(n)/2 in 95 % of cases.
  const reach = 0.98 * Math.sqrt(length);
  const low = sorted[Math.max(0, Math.floor(length / 2 - reach))] ?? Number.NaN;
  const high = sorted[Math.min(length - 1, Math.ceil(length / 2 + reach))] ?? Number.NaN;
  return { median: quantile(sorted, 0.5), low, high };
}

/** The ratio of each value to the one measured beside it: slowness that affects both cancels out. */
export function pairwiseRatios(values: readonly number[], baseline: readonly number[]): number[] {
  if (values.length !== baseline.length) {
    throw new RangeError(`pairs need as many values as baselines: ${values.length} and ${baseline.length}`);
  }
  return values.map((value, index) => value / baseline[index]!);
}

/** Jain's fairness index: 1 for equal shares, 1/n if one has everything, NaN if all shares are 0. */
export function jainIndex(shares: readonly number[]): number {
  const sum = shares.reduce((total, share) => total + share, 0);
  const squares = shares.reduce((total, share) => total + share * share, 0);
  return (sum * sum) / (shares.length * squares);
}

function ascending(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b);
}

/**
 * The order of turns of `count` contenders for each pass; it repeats after the last. Each contender takes each position,
 * and follows each other contender, equally often (a Williams square). The work that a contender leaves behind, such as
 * late replies and garbage, is thus charged to all others alike; a plain rotation would always charge the same one.
 */
export function turnOrders(count: number): readonly (readonly number[])[] {
  const first: number[] = [];
  for (let low = 0, high = count; first.length < count; ) {
    first.push(low % count);
    low += 1;
    high -= 1;
    if (first.length < count) first.push(high);
  }
  const square = first.map((_, shift) => first.map((place) => (place + shift) % count));
  // For an odd count one square does not balance the neighbours; the square with its mirror image does.
  return count % 2 === 0 ? square : [...square, ...square.map((order) => order.toReversed())];
}

/**
 * Runs one turn of each contender per pass. Returns the samples of each contender; samples with the same index are from
 * the same pass.
 */
export async function alternate<C, Sample>(
  contenders: readonly C[],
  passes: number,
  turn: (contender: C, pass: number) => Promise<Sample>,
): Promise<ReadonlyMap<C, readonly Sample[]>> {
  const samples = new Map<C, Sample[]>(contenders.map((contender) => [contender, []]));
  const orders = turnOrders(contenders.length);
  for (let pass = 0; pass < passes; pass += 1) {
    for (const place of orders[pass % orders.length]!) {
      const contender = contenders[place]!;
      samples.get(contender)!.push(await turn(contender, pass));
      // Replies that have already arrived are read before the next turn starts.
      await nextTurn();
    }
  }
  return samples;
}
