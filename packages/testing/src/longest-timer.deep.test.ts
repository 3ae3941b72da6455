import { afterEach, expect, test, vi } from "vitest";
import { fakeRedlock } from "./fake-redlock.ts";
import { advance, timersToFake } from "./fake-timers.ts";

// In a process of its own: a client that another test has left, and that reconnects by the faked timers, has a million of them
// in a month.

afterEach(() => void vi.useRealTimers());

test("advance goes by more than the longest timer", async () => {
  const month = 30 * 24 * 3_600_000;
  vi.useFakeTimers({ toFake: timersToFake });
  const lock = await fakeRedlock({ owner: false }).acquire("r", month);
  await advance(month - 1_000_000_000);
  expect(lock.signal.aborted).toBe(false);
  await advance(month);
  expect(lock.signal.aborted).toBe(true);
});
