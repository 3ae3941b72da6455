/** A lock that may be held until a time at most (`maxHoldTime`), however far the masters would keep its keys. */
export interface HoldLimit {
  /** In lease time. */
  readonly until: number;
  /** What its holder is told then. */
  readonly why: string;
  /** Whether an extension was cut short by it: then it is the reason when the lease runs out a little before. */
  isReached: boolean;
}

/** How long a key may be asked to live when `ttl` is wanted, whole ms: no longer than `limit` has left. */
export function ttlWithin(limit: HoldLimit | undefined, ttl: number, now: number): number {
  return limit ? Math.min(ttl, Math.max(1, Math.floor(limit.until - now))) : ttl;
}

/** The limit of a hold that begins now; none for a `maxHoldTime` that is not given, or without end. */
export function holdLimit(now: number, maxHoldTime: number | undefined): HoldLimit | undefined {
  if (maxHoldTime === undefined || maxHoldTime === Number.POSITIVE_INFINITY) return undefined;
  return {
    until: now + maxHoldTime,
    why: `it was held for maxHoldTime, ${maxHoldTime} ms`,
    isReached: false,
  };
}
