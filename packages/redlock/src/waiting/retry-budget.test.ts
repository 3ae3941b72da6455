import { describe, expect, test } from "vitest";
import { defaultSettings, type Settings } from "../settings/settings.ts";
import { Cancellation } from "../time/cancellation.ts";
import { VirtualMachine, VirtualTime } from "../virtual-time.test.ts";
import { RetryBudget } from "./retry-budget.ts";

/** The retries that each of these waits is worth, ms. */
async function retriesAfter(waits: readonly number[], settings: Partial<Settings>): Promise<number[]> {
  const time = new VirtualTime();
  const machine = new VirtualMachine(time);
  const budget = new RetryBudget(machine, { ...defaultSettings, ...settings }, new Cancellation(), 0);
  budget.useTimeLimit();
  const worth: number[] = [];
  for (const wait of waits) {
    await time.advance(wait - time.now());
    worth.push(budget.retriesWaited);
  }
  budget.end();
  return worth;
}

describe("a wait in the queue is worth", () => {
  test("a retry for each retryDelay, up to retryCount", async () => {
    expect(await retriesAfter([0, 90, 700, 2000, 9000], {})).toEqual([0, 0, 4, 10, 10]);
  });

  test("a retry for each pause of the backoff", async () => {
    expect(await retriesAfter([500, 9000], { backoff: () => 50, retryCount: 20 })).toEqual([10, 20]);
  });

  test("as many retries as it takes, without a limit", async () => {
    expect(await retriesAfter([9000], { retryCount: -1 })).toEqual([45]);
    expect(await retriesAfter([9000], { waitTimeout: 10_000 })).toEqual([45]);
  });

  test("all retries at once, without a delay", async () => {
    expect(await retriesAfter([0], { retryDelay: 0 })).toEqual([10]);
  });
});

test("a wait in the queue with an infinite backoff does not end by itself, and is worth no retry", async () => {
  const time = new VirtualTime();
  const settings = { ...defaultSettings, backoff: () => Number.POSITIVE_INFINITY };
  const budget = new RetryBudget(new VirtualMachine(time), settings, new Cancellation(), 0);
  budget.useTimeLimit();
  await time.advance(24 * 3_600_000);
  expect(budget.ended.isOver).toBe(false);
  expect(budget.retriesWaited).toBe(0);
  budget.end();
});

/** How many pauses a call makes while others take the lock again and again, each time for so long. */
function pausesFor(remaining: number, given: Partial<Settings>): number {
  const settings = { ...defaultSettings, retryJitter: 0, ...given };
  const budget = new RetryBudget(new VirtualMachine(new VirtualTime()), settings, new Cancellation(), 0);
  const answers = [{ is: "no", resource: "r", owner: "rival", remaining }] as const;
  let count = 0;
  while (budget.pauseAfter(answers) !== undefined) count += 1;
  return count;
}

test.each([
  // Pauses of 501 to 506 ms instead of 1000: two retries are four of those.
  ["counts for the part of it that was waited", 500, { retryCount: 2, retryDelay: 1000 }, [4]],
  ["counts for a tenth at least", 1, { retryCount: 2, retryDelay: 1000 }, [20, 21]],
  ["counts for a whole one where it was not cut short", 5000, { retryCount: 3, retryDelay: 1000 }, [3]],
  ["counts for a whole one where it is none", 5000, { retryCount: 3, retryDelay: 0 }, [3]],
])("a pause that the end of a key cuts short %s", (_, remaining, settings, counts) => {
  expect(counts).toContain(pausesFor(remaining, settings));
});
