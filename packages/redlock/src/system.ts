import type { Runtime, Timer } from "./runtime.ts";

// The one file that reads the system's clocks, timers and randomness (a lint rule keeps it so). It uses only
// globals that Node and browsers share.

class SystemTimer implements Timer {
  /** A number in browsers, where nothing is kept alive by a timer. */
  readonly #timeout: ReturnType<typeof setTimeout> | number;

  constructor(callback: () => void, delay: number) {
    this.#timeout = setTimeout(callback, delay);
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  unref(): void {
    if (typeof this.#timeout === "object") this.#timeout.unref();
  }
}

/** Random bytes are drawn so many at a time: a call costs as much for these as for the few that a token takes. */
const drawnAtOnce = 4096;
let drawn = new Uint8Array(drawnAtOnce);
let used = drawnAtOnce;

function randomBytes(count: number): Uint8Array {
  if (used + count > drawn.length) {
    drawn = crypto.getRandomValues(new Uint8Array(Math.max(count, drawnAtOnce)));
    used = 0;
  }
  used += count;
  return drawn.subarray(used - count, used);
}

/** The clocks, timers and random bytes of the machine. */
export const systemRuntime: Runtime = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  randomBytes,
  setTimer: (callback, delay) => new SystemTimer(callback, delay),
};
