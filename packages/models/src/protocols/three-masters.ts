import { Layout, type Sort } from "../search/layout.ts";

/** Of the three masters that every model has: any two such choices share one. */
export const quorum = 2;

/** The numbers of a state, and the masters that they are about: alike, so it does not matter which is which. */
export function threeMasters(): { layout: Layout; nodes: Sort } {
  const layout = new Layout();
  return { layout, nodes: layout.sort(3, { interchangeable: true }) };
}

/** Every choice of a quorum, or of all, of at most three nodes. */
export function quorums(nodes: readonly number[]): number[][] {
  if (nodes.length < quorum) return [];
  if (nodes.length === quorum) return [[...nodes]];
  return [...nodes.map((left) => nodes.filter((node) => node !== left)), [...nodes]];
}
