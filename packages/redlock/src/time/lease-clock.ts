import type { Runtime } from "./runtime.ts";

/** The wall clock is read in whole milliseconds: the time between two readings is wrong by less than this. */
const wallGrain = 1;

/**
 * The clock that measures leases: milliseconds since it was created, counted so that errors are in the safe direction
 * (too much time passed, never too little).
 *
 * Neither clock of a machine is enough. The monotonic clock stops while the machine is suspended, so a holder that
 * wakes up would count on a lease that expired long ago. The wall clock can be stepped back, with the same effect.
 * So each reading adds the larger of the times that the two clocks show *since the previous reading* (PROTOCOL 3.4,
 * 3.5). Taking the larger once, over the whole lease, is not enough: a suspension followed by a step back would
 * cancel out. (Without a reading between the two they still do: no process can see that, PROTOCOL 1.4.) A step forward ends leases
 * early, which costs a lock but never safety.
 *
 * If the two agree to within the resolution of the wall clock, the monotonic one is right, to a fraction of a
 * millisecond. If they do not, only the wall clock is right, and its rounding error must not be subtracted: the
 * simulation found holders that counted on their leases 0.7 ms too long after a suspension when 2 ms were always subtracted.
 */
export class LeaseClock {
  readonly #runtime: Runtime;
  readonly #onJump: () => void;
  #elapsed = 0;
  #monotonic: number;
  #wall: number;

  /**
   * `onJump` is called after a clock jump: time has passed that timers, which count by the monotonic clock, do not
   * know of.
   */
  constructor(runtime: Runtime, onJump: () => void = () => {}) {
    this.#runtime = runtime;
    this.#onJump = onJump;
    this.#wall = runtime.wall();
    this.#monotonic = runtime.monotonic();
  }

  /** The latest reading: no clock is read. */
  get latest(): number {
    return this.#elapsed;
  }

  /** Lease time in milliseconds, never less than at the previous reading. */
  now(): number {
    // Read before and after the wall clock. A process may be stopped between two readings, and the simulation found
    // that one reading of each is not enough: a pause may be hidden by a step back, or hide a suspension. Time since
    // the reading of the wall clock is added to what it shows; in doubt some time is counted twice.
    const before = this.#runtime.monotonic();
    const wall = this.#runtime.wall();
    const monotonic = this.#runtime.monotonic();
    const byMonotonic = Math.max(0, monotonic - this.#monotonic);
    const byWall = wall - this.#wall;
    const jumped = byWall - (before - this.#monotonic) > wallGrain;
    this.#elapsed += jumped ? Math.max(byMonotonic, byWall + wallGrain + monotonic - before) : byMonotonic;
    this.#monotonic = monotonic;
    this.#wall = wall;
    if (jumped) this.#onJump();
    return this.#elapsed;
  }
}

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
