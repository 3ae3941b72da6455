import { type Hold, wholeKey } from "./history.ts";

/** How early the holder of a lost lock was notified. */
export interface Notice {
  readonly hold: Hold;
  /** From the abort of the signal to the moment at which the masters may grant the lock to another, ms; negative if too late. */
  readonly margin: number;
  /** From the abort of the signal to the next grant, ms; undefined if there was none. */
  readonly untilNext: number | undefined;
}

/**
 * Locks of one key whose signal aborted while their process ran. A holder whose process was stopped is left out: it
 * notices at its first check, and the check of overlapping holders shows that its validity ended in time.
 */
export function noticesIn(holds: readonly Hold[]): Notice[] {
  const inOrder = [...holds].sort((a, b) => a.grantedAt - b.grantedAt);
  const notices: Notice[] = [];
  for (const [index, hold] of inOrder.entries()) {
    const { notifiedAt, validUntil, reserve, stoodStill } = hold;
    if (notifiedAt === undefined || stoodStill > 0) continue;
    const next = inOrder.find((other, at) => at > index && areRivals(hold, other));
    const margin = validUntil + reserve - notifiedAt;
    notices.push({ hold, margin, untilNext: next && next.grantedAt - notifiedAt });
  }
  return notices;
}

function areRivals({ share: one = wholeKey }: Hold, { share: other = wholeKey }: Hold): boolean {
  return one + other > wholeKey;
}

/** Whether the lock could have been another's by then, or was. */
export function isLate({ margin, untilNext }: Notice): boolean {
  return margin < 0 || (untilNext !== undefined && untilNext < 0);
}
