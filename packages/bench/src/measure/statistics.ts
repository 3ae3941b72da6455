import { setImmediate as nextTurn } from "node:timers/promises";

/** The median of some values of a noisy quantity, and how far it can be off: see {@link spreadOf}. */
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
  // An operation that failed counts as infinitely long: infinity less infinity is no number.
  return below === above ? below : below + (above - below) * (place - Math.floor(place));
}

export function median(values: readonly number[]): number {
  return quantile(ascending(values), 0.5);
}

/**
 * The median, and between which values the true one lies with 95 % confidence, whatever the distribution. For seven
 * values and less those are the least and the most.
 */
export function spreadOf(values: readonly number[]): Spread {
  const sorted = ascending(values);
  const { length } = sorted;
  // How many of n values lie below the true median is binomial: n/2 give or take 1.96 * sqrt(n)/2.
  const reach = 0.98 * Math.sqrt(length);
  const low = sorted[Math.max(0, Math.floor(length / 2 - reach))] ?? Number.NaN;
  const high = sorted[Math.min(length - 1, Math.ceil(length / 2 + reach))] ?? Number.NaN;
  return { median: quantile(sorted, 0.5), low, high };
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

/**
 * In which order `count` contenders take their turns, pass by pass, then from the start again. Each contender
 * comes equally often at each place *and after each other one* (a Williams square): what one leaves behind, the
 * last replies to read or garbage to collect, is charged to all others alike. A plain rotation would charge it
 * to the same neighbour always.
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
  // With an odd count one square does not balance the neighbours; it and its mirror image do.
  return count % 2 === 0 ? square : [...square, ...square.map((order) => order.toReversed())];
}

/**
 * Lets the contenders take turns, each once a pass. Returns the samples of each, pass by pass, so that equal
 * indices were taken side by side.
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
      // Replies that have come in meanwhile are read before the next turn begins.
      await nextTurn();
    }
  }
  return samples;
}
