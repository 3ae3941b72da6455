// The history of a run, as data. All moments are milliseconds on the machine's monotonic clock (CLOCK_MONOTONIC),
// which is shared by all processes of a machine, so they compare.

/** One hold of one key: from the grant to its end, as its holder saw it. */
export interface Hold {
  readonly id: string;
  /** The lock it belongs to: one of several keys is a hold of each. */
  readonly lock: string;
  readonly worker: string;
  readonly key: string;
  /** When the grant had arrived. */
  readonly grantedAt: number;
  /**
   * Until when it would have believed, by what `remaining()` said at its last look. Of a holder that was killed only
   * up to when it was last heard of: it may have released since.
   */
  readonly believedUntil: number;
  /** When its signal aborted. */
  readonly toldAt?: number;
  /** When it began to release. */
  readonly releasedAt?: number;
  /** Time before the abort during which the process did not run, ms: a stopped process cannot be notified. */
  readonly stoodStill: number;
  /** How much of its key it takes, in {@link wholeKey}s: less than all where others may hold as well. Default: all. */
  readonly share?: number;
  /** By how much longer than it believes the masters certainly keep its key: drift and grain, ms. */
  readonly reserve: number;
}

/** The upper bound on the sum of the shares of one key that are held at the same time. */
export const wholeKey = 60;

/** A request to the store, made under a lock. */
export interface Write {
  readonly hold: string;
  readonly key: string;
  /** When the writer had read the value that it counts on from. */
  readonly readAt: number;
  /** The value that it had read, and the one that it writes. */
  readonly base: number;
  readonly value: number;
  /** When the store did it, or refused it. */
  readonly at: number;
  readonly accepted: boolean;
  /** The fencing token of its hold, where there are such. */
  readonly token?: number;
}

export interface History {
  readonly holds: readonly Hold[];
  readonly writes: readonly Write[];
}

/** The lists of each key. */
export function byKey<T extends { readonly key: string }>(items: readonly T[]): ReadonlyMap<string, T[]> {
  const lists = new Map<string, T[]>();
  for (const item of items) {
    const list = lists.get(item.key);
    if (list) list.push(item);
    else lists.set(item.key, [item]);
  }
  return lists;
}
