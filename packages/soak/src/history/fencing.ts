import type { Write } from "./history.ts";

/** A write that came after one of a later hold. */
export interface OutOfOrder {
  readonly write: Write;
  readonly token: number;
  /** The largest token that the store had seen. */
  readonly largest: number;
}

/**
 * Accepted writes of one key that a store which compares tokens would have rejected: with a smaller token than one
 * before, or with the same token by another hold. Writes without a token are left out.
 */
export function writesOutOfOrder(
  writes: readonly Write[],
  tokenOf: (write: Write) => number | undefined = ({ token }) => token,
): OutOfOrder[] {
  const found: OutOfOrder[] = [];
  let largest: { readonly token: number; readonly hold: string } | undefined;
  for (const write of writes) {
    const token = write.accepted ? tokenOf(write) : undefined;
    if (token === undefined) continue;
    const isInOrder =
      !largest || token > largest.token || (token === largest.token && write.hold === largest.hold);
    if (isInOrder) largest = { token, hold: write.hold };
    else if (largest) found.push({ write, token, largest: largest.token });
  }
  return found;
}
