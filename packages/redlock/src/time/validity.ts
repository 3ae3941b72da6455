/** The deadline of a master that does not hold the key. */
export const never: number = Number.NEGATIVE_INFINITY;

/** A key may expire early by this much: Redis counts whole milliseconds. */
const expiryGrain = 1;
/** The error of our own clock, which may be read in whole milliseconds. */
const readingGrain = 1;

/**
 * The time, in the holder's lease time, until which a master certainly keeps a key that it set or extended for `ttl`
 * after a command sent at `sentAt` (PROTOCOL 3.1). The master counts from the arrival of the command, which is later;
 * its clock may run faster than ours by `driftFactor` (PROTOCOL 1.1).
 */
export function nodeDeadline(sentAt: number, ttl: number, driftFactor: number): number {
  return sentAt + (ttl - expiryGrain) * (1 - driftFactor) - readingGrain;
}

/** The part of a ttl that drift and clock precision take, ms: `ttl - validityLoss(ttl)` is left at the send. */
export function validityLoss(ttl: number, driftFactor: number): number {
  return ttl - nodeDeadline(0, ttl, driftFactor);
}

/**
 * The deadline of a lease: the latest moment that a quorum of the masters' deadlines reaches, which is the quorum-th
 * largest of them. Until then a quorum keeps the key, so no other client can win one; a few masters whose deadline was
 * not renewed do not matter.
 */
export function leaseDeadline(deadlines: readonly number[], quorum: number): number {
  let latest = never;
  // By index: an iterator would allocate an object for each number.
  for (let one = 0; one < deadlines.length; one += 1) {
    const candidate = deadlines[one]!;
    let reached = 0;
    for (let other = 0; other < deadlines.length; other += 1)
      if (deadlines[other]! >= candidate) reached += 1;
    // A quorum reaches it (PROTOCOL 3.2).
    if (reached >= quorum && candidate > latest) latest = candidate;
  }
  return latest;
}
