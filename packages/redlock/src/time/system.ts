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

/**
 * Random bytes are drawn ahead, since a call for the 16 of one token costs 2 us of CPU in a loop and 10 us among other
 * work. But not for long: a snapshot of the process, or a copy of its machine, has what was drawn and not used, and each
 * of two copies would take the other's token for its own (PROTOCOL 2.1, 2.7).
 */
const drawnAtOnce = 1024;
/** By the wall clock, ms: the other one begins anew in a process that is started from a snapshot. */
const longestKept = 10;
let drawn = new Uint8Array(0);
let used = 0;
let drawnAt = 0;

/** Both clocks, as bytes. */
const clocks = new Float64Array(2);
const clockBytes = new Uint8Array(clocks.buffer);

function randomBytes(count: number): Uint8Array {
  const now = Date.now();
  const isFresh = now >= drawnAt && now - drawnAt < longestKept;
  if (!isFresh || used + count > drawn.length) {
    drawn = crypto.getRandomValues(new Uint8Array(Math.max(count, drawnAtOnce)));
    used = 0;
    drawnAt = now;
  }
  used += count;
  const bytes = drawn.subarray(used - count, used);
  // A copy of the machine goes on with the same generator: OpenSSL keeps its state in the process for minutes. What
  // tells two copies apart is when they draw, in nanoseconds. Random bytes are as random with any other bytes added.
  clocks[0] = performance.now();
  clocks[1] = now;
  for (let index = 0; index < count && index < clockBytes.length; index += 1) {
    bytes[index]! ^= clockBytes[index]!;
  }
  return bytes;
}

/** The clocks, timers and random bytes of the machine. */
export const systemRuntime: Runtime = {
  monotonic: () => performance.now(),
  wall: () => Date.now(),
  randomBytes,
  setTimer: (callback, delay) => new SystemTimer(callback, delay),
};
