import { setImmediate } from "node:timers";
import { bytesRead } from "@quorlock/simulation/embedded";
import { refusePartlyFaked } from "./faked-clocks.ts";

/** The real one, also while timers are faked: they replace globals, and what modules export. */
const nextTurn = setImmediate;

/**
 * The timers to fake under Vitest: `vi.useFakeTimers({ toFake: timersToFake })`. All clocks and timers, except those that
 * sockets and client libraries need.
 */
export const timersToFake: Array<
  "Date" | "performance" | "setTimeout" | "clearTimeout" | "setInterval" | "clearInterval"
> = ["Date", "performance", "setTimeout", "clearTimeout", "setInterval", "clearInterval"];

/** The timers to keep under Jest: `jest.useFakeTimers({ doNotFake: timersToKeep })`. The rest is {@link timersToFake}. */
export const timersToKeep: Array<
  "hrtime" | "nextTick" | "queueMicrotask" | "setImmediate" | "clearImmediate"
> = ["hrtime", "nextTick", "queueMicrotask", "setImmediate", "clearImmediate"];

/** The clock of @sinonjs/fake-timers, as far as it is needed here; Vitest and Jest use it both. */
interface FakeClock {
  setTimeout(callback: () => void, delay: number): unknown;
  next(): number;
  tick(ms: number): number;
}

/** Fake timers fire a longer one at once, as real ones do, ms. */
const longestTimer = 2 ** 31 - 1;

/** The number of turns of the event loop without a command after which no command is in flight. */
const quietTurns = 10;

/**
 * Advances the fake clock of the test by `ms`. Before each due timer, embedded masters answer all commands, so a
 * lock that is kept extended stays held; `vi.advanceTimersByTime` would skip the answers. Other waits (for a file,
 * for another server) are not awaited.
 *
 * @throws RangeError unless `ms` is a number of at least 0; Error without fake timers of Vitest, Jest or Sinon, or if only
 * some of the clocks and timers are faked.
 */
export async function advance(ms: number): Promise<void> {
  if (!(ms >= 0 && ms < Number.POSITIVE_INFINITY)) {
    throw new RangeError(`advance takes a number of ms, 0 or more, got ${ms}`);
  }
  refusePartlyFaked("advance");
  const { clock } = setTimeout as { clock?: FakeClock };
  if (typeof clock?.next !== "function") {
    throw new Error(
      "advance needs fake timers: vi.useFakeTimers({ toFake: timersToFake }) or jest.useFakeTimers({ doNotFake: timersToKeep })",
    );
  }
  if (ms > longestTimer) {
    await advance(longestTimer);
    return advance(ms - longestTimer);
  }
  const end = { isReached: false };
  // So there is always a next timer.
  clock.setTimeout(() => {
    end.isReached = true;
  }, ms);
  await settled();
  while (!end.isReached) {
    clock.next();
    await settled();
  }
  // Timers that are due at the same moment as the last one.
  clock.tick(0);
  await settled();
}

/** Resolves when no command reaches the embedded masters any more, and what their answers led to has happened. */
async function settled(): Promise<void> {
  let before = bytesRead();
  for (let quiet = 0; quiet < quietTurns; quiet += 1) {
    await new Promise<void>((resolve) => {
      nextTurn(resolve);
    });
    const now = bytesRead();
    if (now !== before) quiet = 0;
    before = now;
  }
}
