/**
 * Delta debugging (Zeller, Hildebrandt: "Simplifying and isolating failure-inducing input", 2002): a smallest part
 * of `items` from which nothing can be taken without losing what is sought. `find` is given parts to try, and gives
 * back the index of the first in which it still is.
 */
export async function ddmin<T>(
  items: readonly T[],
  find: (subsets: ReadonlyArray<readonly T[]>) => Promise<number | undefined>,
): Promise<readonly T[]> {
  if (items.length > 0 && (await find([[]])) !== undefined) return [];
  let rest = items;
  let parts = 2;
  while (rest.length >= 2) {
    const count = Math.min(parts, rest.length);
    const subsets = split(rest, count);
    const complements = subsets.map((subset) => rest.filter((item) => !subset.includes(item)));
    const found = await find([...subsets, ...complements]);
    if (found === undefined && count === rest.length) break;
    if (found === undefined) parts = 2 * count;
    else if (found < count) [rest, parts] = [subsets[found]!, 2];
    else [rest, parts] = [complements[found - count]!, Math.max(2, count - 1)];
  }
  return rest;
}

function split<T>(items: readonly T[], count: number): ReadonlyArray<readonly T[]> {
  return Array.from({ length: count }, (_, index) =>
    items.slice(Math.floor((index * items.length) / count), Math.floor(((index + 1) * items.length) / count)),
  );
}
