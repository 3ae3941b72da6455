import type { Runtime } from "./runtime.ts";

/** The wall clock is read in whole milliseconds: the time between two readings is wrong by less than this. */
const wallGrain = 1;

/**
 * The time that leases are measured in: milliseconds since this clock was made, counted so that an error is
 * in the safe direction (too much time passed, never too little).
 *
 * Neither clock of a machine is enough. The monotonic clock stands still while the machine is suspended, so a
 * holder that wakes up would believe in a lease that ran out long ago. The wall clock can be stepped back, with
 * the same effect. So each reading adds the larger of what the two say has passed *since the reading before*
 * (PROTOCOL 2.4, 14.12). Taking the larger once, over the whole hold, is not enough: a suspension followed by a
 * step back would cancel out. (Without a reading between the two they still do: nobody can see that.) A step
 * forward ends leases early, which costs a lock but never safety.
 *
 * Where the two agree to within the grain of the wall clock the monotonic one is right, to a fraction of a
 * millisecond. Where they do not, the wall clock alone knows, and its rounding must not be taken off: simulation
 * found holders that believed 0.7 ms too long after a suspension when 2 ms were always forgiven.
 */
export class LeaseClock {
  readonly #runtime: Runtime;
  readonly #onLeap: () => void;
  #elapsed = 0;
  #monotonic: number;
  #wall: number;

  /** `onLeap` is called when time has passed that timers, which count by the monotonic clock, know nothing of. */
  constructor(runtime: Runtime, onLeap: () => void = () => {}) {
    this.#runtime = runtime;
    this.#onLeap = onLeap;
    this.#wall = runtime.wall();
    this.#monotonic = runtime.monotonic();
  }

  /** Milliseconds of lease time, never less than at the reading before. */
  now(): number {
    // On both sides of the wall clock. A process may be stopped between two readings, and simulation found what one
    // reading of each comes to then: a pause that a step back hides, or that hides a suspension. What passed from the
    // wall clock's reading on is added to what it says; where in doubt some time is counted twice.
    const before = this.#runtime.monotonic();
    const wall = this.#runtime.wall();
    const monotonic = this.#runtime.monotonic();
    const byMonotonic = Math.max(0, monotonic - this.#monotonic);
    const byWall = wall - this.#wall;
    const leapt = byWall - (before - this.#monotonic) > wallGrain;
    this.#elapsed += leapt ? Math.max(byMonotonic, byWall + wallGrain + monotonic - before) : byMonotonic;
    this.#monotonic = monotonic;
    this.#wall = wall;
    if (leapt) this.#onLeap();
    return this.#elapsed;
  }
}
