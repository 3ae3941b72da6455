/** Every choice of two or three of at most three nodes: of three, two are a quorum. */
export function quorums(nodes: readonly number[]): number[][] {
  if (nodes.length < 2) return [];
  if (nodes.length === 2) return [[...nodes]];
  return [...nodes.map((left) => nodes.filter((node) => node !== left)), [...nodes]];
}
