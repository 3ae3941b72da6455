import { type LostUpdate, lostUpdates, overlapsOfEffect } from "./effect.ts";
import { type OutOfOrder, writesOutOfOrder } from "./fencing.ts";
import { byKey, type History, type Write } from "./history.ts";
import { type Notice, noticesIn } from "./notice.ts";
import { overlapsOfHolders } from "./observed-holder.ts";
import type { Overlap } from "./spans.ts";

/** Everything that should not be in a history. */
export interface Findings {
  readonly overlapsOfHolders: readonly Overlap[];
  readonly overlapsOfEffect: readonly Overlap[];
  readonly lostUpdates: readonly LostUpdate[];
  /** By the fencing tokens that were there. */
  readonly outOfOrder: readonly OutOfOrder[];
  /** Stale writes by the order of the grants, which is the order of fencing tokens: fencing rejects them. */
  readonly stale: readonly OutOfOrder[];
  readonly notices: readonly Notice[];
}

/** Looks at each key separately. */
export function check({ holds, writes }: History): Findings {
  const granted = new Map(holds.map((hold) => [hold.id, hold.grantedAt]));
  const orderOf = ({ hold }: Write): number | undefined => granted.get(hold);
  const holdsOfKeys = [...byKey(holds).values()];
  const writesOfKeys = [...byKey(writes).values()];
  return {
    overlapsOfHolders: holdsOfKeys.flatMap(overlapsOfHolders),
    overlapsOfEffect: writesOfKeys.flatMap(overlapsOfEffect),
    lostUpdates: writesOfKeys.flatMap(lostUpdates),
    outOfOrder: writesOfKeys.flatMap((list) => writesOutOfOrder(list)),
    stale: writesOfKeys.flatMap((list) => writesOutOfOrder(list, orderOf)),
    notices: holdsOfKeys.flatMap(noticesIn),
  };
}
