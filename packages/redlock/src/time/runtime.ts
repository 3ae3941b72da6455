/**
 * The clocks, timers and randomness that the client uses. Injected, so that a simulation can give each client its
 * own; {@link systemRuntime} is the real one.
 */
export interface Runtime {
  /** Milliseconds, with fractions, that never step back. May stop while the machine is suspended. */
  monotonic(): number;
  /** Milliseconds since the epoch. May step either way, but continues through a suspension. */
  wall(): number;
  /** Cryptographically strong random bytes. */
  randomBytes(count: number): Uint8Array;
  /** Calls `callback` once, after at least `delay` ms; `delay` is at most {@link maxTimerDelay}. */
  setTimer(callback: () => void, delay: number): Timer;
  /** The machine and the process, for the name of an owner. Missing or `undefined` if they are unknown. */
  identity?(): { readonly host: string; readonly pid: number } | undefined;
}

export interface Timer {
  /** Cancels the callback. No effect after it was called. */
  cancel(): void;
  /** Allows the process to exit before this timer fires. */
  unref(): void;
  /** Whether the platform's timers are others by now, as after a test that has faked them: it may never fire. */
  readonly isForeign?: boolean;
}

/** The maximum delay of a JavaScript timer: a longer one fires immediately (2^31 - 1 ms, some 24.8 days). */
export const maxTimerDelay = 2_147_483_647;

/** A uniformly distributed number in [0, 1), for jitter. */
export function randomFraction(runtime: Runtime): number {
  const bytes = runtime.randomBytes(4);
  const integer = bytes[0]! * 2 ** 24 + bytes[1]! * 2 ** 16 + bytes[2]! * 2 ** 8 + bytes[3]!;
  return integer / 2 ** 32;
}
