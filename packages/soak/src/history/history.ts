// The history of a run, as data. All moments are milliseconds on the machine's monotonic clock (CLOCK_MONOTONIC),
// which is shared by all processes of a machine, so they compare.

/** The interval in which a worker holds one key: from the grant to its end, as the holder observes it. */
export interface Hold {
  readonly id: string;
  /** Its lock. A lock of several keys has one interval for each. */
  readonly lock: string;
  readonly worker: string;
  readonly key: string;
  /** In the masters' keys. */
  readonly token?: string;
  /** The time of the grant at the holder. */
  readonly grantedAt: number;
  /**
   * The end of its validity, by its last call of `remaining()`. For a killed holder: the time of its last report, as it
   * may have released since.
   */
  readonly validUntil: number;
  /** The time at which its signal aborted. */
  readonly notifiedAt?: number;
  /** The time at which the release began. */
  readonly releasedAt?: number;
  /** Time before the abort during which the process did not run, ms: a stopped process cannot be notified. */
  readonly stoodStill: number;
  /** Its share of the key, in units of which {@link wholeKey} are the whole. Default: the whole key. */
  readonly share?: number;
  /** The time for which the masters certainly keep its key beyond `validUntil`: drift and rounding, ms. */
  readonly reserve: number;
}

/** The upper bound on the sum of the shares of one key that are held at the same time. */
export const wholeKey = 60;

/** A request to the store, made under a lock. */
export interface Write {
  readonly hold: string;
  readonly key: string;
  /** The time at which the writer had read `base`. */
  readonly readAt: number;
  /** The value that the writer had read, and the one that it writes. */
  readonly base: number;
  readonly value: number;
  /** The time at which the store accepted or refused it. */
  readonly at: number;
  readonly accepted: boolean;
  /** The fencing token of its lock, if there is one. */
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
