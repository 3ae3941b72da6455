/** The clocks that a library reads to get the time from the process. */
export interface WallClock {
  restore(): void;
}

const systemNow = Date.now;

/** Puts `clock`, if there is one, in the place of the process's. */
export function wallClockOf(clock: (() => number) | undefined): WallClock {
  if (clock) Date.now = clock;
  return {
    restore: () => {
      Date.now = systemNow;
    },
  };
}
