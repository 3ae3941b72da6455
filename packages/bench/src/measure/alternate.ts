import { setImmediate as nextTurn } from "node:timers/promises";

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
