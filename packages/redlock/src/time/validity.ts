/** Never: the deadline of a master that does not hold the key. */
export const never: number = Number.NEGATIVE_INFINITY;

/** What a master's expiry may be early by: Redis counts whole milliseconds. */
const expiryGrain = 1;
/** What reading our own clock at whole milliseconds may cost. */
const readingGrain = 1;

/**
 * Until when, in the holder's lease time, a master certainly keeps a key that it set or extended for `ttl`
 * after a command sent at `sentAt` (PROTOCOL 3). The master counted from when the command arrived, which is
 * later; its clock may run faster than ours by `driftFactor`.
 */
export function nodeDeadline(sentAt: number, ttl: number, driftFactor: number): number {
  return sentAt + (ttl - expiryGrain) * (1 - driftFactor) - readingGrain;
}

/** What is taken off a ttl for drift and clock precision, ms: `ttl - validityLoss(ttl)` is left at the send. */
export function validityLoss(ttl: number, driftFactor: number): number {
  return ttl - nodeDeadline(0, ttl, driftFactor);
}

/**
 * Until when a hold is certain: the latest moment that a quorum of the masters' deadlines reaches, which is the
 * quorum-th largest of them. Up to then a quorum keeps the key, so nobody else can win one; a few masters whose
 * deadline was not renewed cost nothing (PROTOCOL 3).
 */
export function holdDeadline(deadlines: readonly number[], quorum: number): number {
  let latest = never;
  // By index: an iterator would make an object of each number.
  for (let one = 0; one < deadlines.length; one += 1) {
    const candidate = deadlines[one]!;
    let reached = 0;
    for (let other = 0; other < deadlines.length; other += 1)
      if (deadlines[other]! >= candidate) reached += 1;
    if (reached >= quorum && candidate > latest) latest = candidate;
  }
  return latest;
}
