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
