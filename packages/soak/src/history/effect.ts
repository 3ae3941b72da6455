import type { Write } from "./history.ts";
import { type Overlap, overlapsAmong } from "./spans.ts";

/** The overlaps of two holders' work on one key, each from its first read to its last write. */
export function overlapsOfEffect(writes: readonly Write[]): Overlap[] {
  const spans = new Map<string, { id: string; from: number; until: number }>();
  for (const { hold, readAt, at, accepted } of writes) {
    if (!accepted) continue;
    const span = spans.get(hold);
    spans.set(hold, {
      id: hold,
      from: Math.min(span?.from ?? readAt, readAt),
      until: Math.max(span?.until ?? at, at),
    });
  }
  return overlapsAmong([...spans.values()]);
}

/** An update that was overwritten by a writer that had read an older value. */
export interface LostUpdate {
  readonly by: Write;
  /** The value that was overwritten unseen. */
  readonly overwritten: number;
}

/** The writes of one key, in the order in which the store did them; the value is 0 at first. */
export function lostUpdates(writes: readonly Write[]): LostUpdate[] {
  const lost: LostUpdate[] = [];
  let current = 0;
  for (const write of writes) {
    if (!write.accepted) continue;
    if (write.base !== current) lost.push({ by: write, overwritten: current });
    current = write.value;
  }
  return lost;
}
