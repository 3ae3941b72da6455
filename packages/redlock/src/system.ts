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

/** The clocks, timers and random bytes of the machine. */
export const systemRuntime: Runtime = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  randomBytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  setTimer: (callback, delay) => new SystemTimer(callback, delay),
};
