import type { Runtime } from "./runtime.ts";

/** The wall clock is read at 1 ms: two readings may differ by up to this much more than the time between them. */
const wallGrain = 2;

/**
 * The time that leases are measured in: milliseconds since this clock was made, counted so that an error is
 * always in the safe direction (too much time passed, never too little).
 *
 * Neither clock of a machine is enough. The monotonic clock stands still while the machine is suspended, so a
 * holder that wakes up would believe in a lease that ran out long ago. The wall clock can be stepped back, with
 * the same effect. So each reading adds the larger of what the two say has passed *since the reading before*
 * (PROTOCOL 2.4, 14.12). Taking the larger once, over the whole hold, is not enough: a suspension followed by a
 * step back would cancel out. A step forward ends leases early, which costs a lock but never safety.
 */
export class LeaseClock {
  readonly #runtime: Runtime;
  #elapsed = 0;
  #monotonic: number;
  #wall: number;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#monotonic = runtime.monotonic();
    this.#wall = runtime.wall();
  }

  /** Milliseconds of lease time, never less than at the reading before. */
  now(): number {
    const monotonic = this.#runtime.monotonic();
    const wall = this.#runtime.wall();
    this.#elapsed += Math.max(0, monotonic - this.#monotonic, wall - this.#wall - wallGrain);
    this.#monotonic = monotonic;
    this.#wall = wall;
    return this.#elapsed;
  }
}
