import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 12.10.

const fleet = Fleet.forTests(3);
/** Enough that most of them wait while the process is busy: a round takes one or two of its turns. */
const calls = 600;
const acquireConcurrency = 8;
/** The part of each turn of the event loop that other work takes, ms. */
const busyTime = 30;
/** The time for which it goes on, ms: longer than a call would wait for admission if masters answered nobody. */
const busyFor = 1300;

/** Keeps this process busy for most of each turn of its event loop. */
function otherWork(until: number): Promise<void> {
  return new Promise((resolve) => {
    const turn = (): void => {
      const end = performance.now() + busyTime;
      while (performance.now() < end);
      if (end < until) setImmediate(turn);
      else resolve();
    };
    setImmediate(turn);
  });
}

it("each call of a burst is admitted, although other work of the process slows the masters' answers", async () => {
  const { redlock } = await fleet.openWarm({ acquireConcurrency, nodeTimeout: undefined });
  const resource = fresh();
  const burst = Promise.allSettled(
    Array.from({ length: calls }, (_, index) => redlock.tryAcquire(`${resource}:${index}`, 1000)),
  );
  await otherWork(performance.now() + busyFor);
  const refused = (await burst).filter(
    (result) => result.status === "rejected" && /waiting for admission/.test(`${result.reason}`),
  );
  expect(refused).toEqual([]);
});
