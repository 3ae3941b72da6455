/** The end of a lock by `maxHoldTime`, even if the masters would keep its keys for longer. */
export interface LeaseLimit {
  /** In lease time. */
  readonly until: number;
  /** The reason reported to the holder. */
  readonly why: string;
  /**
   * Whether the limit has shortened an extension: then it is the reason when the lease expires slightly before the
   * limit.
   */
  isReached: boolean;
}

/** The ttl to request when `ttl` is wanted, whole ms: at most what `limit` has left. */
export function ttlWithin(limit: LeaseLimit | undefined, ttl: number, now: number): number {
  return limit ? Math.min(ttl, Math.max(1, Math.floor(limit.until - now))) : ttl;
}

/** The limit of a lock that is acquired now; `undefined` if `maxHoldTime` is absent or infinite. */
export function leaseLimit(now: number, maxHoldTime: number | undefined): LeaseLimit | undefined {
  if (maxHoldTime === undefined || maxHoldTime === Number.POSITIVE_INFINITY) return undefined;
  return {
    until: now + maxHoldTime,
    why: `it was held for maxHoldTime, ${maxHoldTime} ms`,
    isReached: false,
  };
}
