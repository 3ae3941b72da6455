import { readFileSync } from "node:fs";
import { ResourceLockedError } from "@quorlock/redlock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { expect, it } from "vitest";
import { Fleet, fresh } from "../fleet/fleet.ts";

// PROTOCOL 10.2.

const fleet = Fleet.forTests(3);
const permits = 10_000;
/**
 * The longest turn of the event loop, ms of processor time of its thread (26 to 62 measured, also beside four busy loops; 460 to 620
 * with all slots in one turn). Where cores are slow, a turn may take a twentieth of all that the wait takes, if that is more.
 */
const maxTurn = 100;

/** Of this thread alone, ms: the collector of garbage has threads of its own. */
const processorTime = () => Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6;

/** Measures the turns of the event loop until the function that it returns is called: the longest one, as a part of what it may take. */
function watchTurns(): () => number {
  let longest = 0;
  let isOver = false;
  let before = processorTime();
  const first = process.cpuUsage();
  const turn = (): void => {
    const now = processorTime();
    longest = Math.max(longest, now - before);
    before = now;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOver = true;
    const { user, system } = process.cpuUsage(first);
    return longest / Math.max(maxTurn, (user + system) / 1000 / 20);
  };
}

it("a wait for 10,000 permits that are taken ends in time, and blocks the event loop in no turn", async () => {
  const name = fresh("permits");
  const holder = new Semaphore((await fleet.openWarm({ nodeTimeout: 20_000 })).redlock, name, permits);
  const held = await holder.acquire(120_000, { permits });
  const { redlock } = await fleet.openWarm();
  const semaphore = new Semaphore(redlock, name, permits);
  const turns: number[] = [];
  const late: number[] = [];
  // A collection of garbage adds to a turn by chance, a cause in the client to the same one each time.
  while (turns.length < 6 && !(Math.min(...turns) < 1 && Math.min(...late) < 500)) {
    const stop = watchTurns();
    const begun = performance.now();
    await expect(semaphore.acquire(10_000, { waitTimeout: 3000 })).rejects.toThrow(ResourceLockedError);
    late.push(performance.now() - begun - 3000);
    // An order behind those that leave the queues.
    await redlock.inspect(name);
    turns.push(stop());
  }
  expect(Math.min(...turns), `${turns.join()} of what they may take`).toBeLessThan(1);
  expect(Math.min(...late)).toBeLessThan(500);
  await held.release();
}, 60_000);
