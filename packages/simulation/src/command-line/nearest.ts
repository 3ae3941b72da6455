/** The candidate that takes the fewest edits to reach; none if every one of them is too different to be a slip. */
export function nearest(given: string, candidates: Iterable<string>): string | undefined {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of candidates) {
    const distance = editDistance(given.toLowerCase(), name.toLowerCase());
    const isPlausible = distance <= Math.max(1, Math.floor(0.4 * Math.max(given.length, name.length)));
    // A beginning of a long name is a slip too, however much of it is missing.
    const isBeginning = given.length > 2 && name.toLowerCase().startsWith(given.toLowerCase());
    if ((isPlausible || isBeginning) && (!best || distance < best.distance)) best = { name, distance };
  }
  return best?.name;
}

/** The words that answer an unknown name: the nearest one, or the choice where none is near; default: all of them. */
export function suggestion(
  given: string,
  candidates: readonly string[],
  choice: string = candidates.join(", "),
): string {
  const name = nearest(given, candidates);
  return name === undefined ? `choose from ${choice}` : `did you mean "${name}"?`;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn `from` into `to`. */
function editDistance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwap =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current[column] = Math.min(
        rows[row - 1]![column]! + 1,
        current[column - 1]! + 1,
        rows[row - 1]![column - 1]! + (isSame ? 0 : 1),
        isSwap ? rows[row - 2]![column - 2]! + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(current);
  }
  return rows[from.length]![to.length]!;
}
