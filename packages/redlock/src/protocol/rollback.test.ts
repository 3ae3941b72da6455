import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createClock } from "@sinonjs/fake-timers";
import { expect, test } from "vitest";
import { LeaseClock } from "../time/lease-clock.ts";
import type { Runtime } from "../time/runtime.ts";
import { unsent } from "./faults.ts";
import type { LockNode } from "./node.ts";
import { Deletions } from "./release.ts";

// PROTOCOL 2.6: what is kept for a master that is away, and for how long. That it is cleaned: test/behaviours.

/** One master, which is away until `isUp`. */
function bed(most?: number) {
  const clock = createClock(0);
  const listeners = new Set<() => void>();
  const master = { isUp: false, sent: [] as string[], listeners };
  const node = {
    name: "master",
    client: {},
    ask: ({ words }, place, sink) => {
      master.sent.push(words[0]!);
      sink.answered(place, master.isUp ? { is: "done" } : unsent("master", "ECONNREFUSED"));
    },
    onReady: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  } as Partial<LockNode> as LockNode;
  const runtime = {
    monotonic: () => clock.now,
    wall: () => clock.now,
    setTimer: (callback: () => void, delay: number) => {
      const timer = clock.setTimeout(callback, delay);
      return { cancel: () => clock.clearTimeout(timer), unref: () => {} };
    },
  } as Runtime;
  const deletions = new Deletions(runtime, new LeaseClock(runtime), () => {}, most);
  const remove = (token: string, ttl = 60_000) =>
    deletions.deletion({ resources: ["r"], token, ttl }, [node], 50).ask();
  return { clock, master, deletions, remove };
}

test("A master that is away is tried every second, by the oldest delete alone, and sent all once it answers", async () => {
  const { clock, master, deletions, remove } = bed();
  for (const token of ["a", "b", "c"]) remove(token);
  await clock.tickAsync(0);
  master.sent.length = 0;
  await clock.tickAsync(2500);
  expect([master.sent, deletions.pendingCount, clock.countTimers()]).toEqual([["a", "b"], 3, 1]);
  master.isUp = true;
  await clock.tickAsync(1000);
  expect([master.sent.slice(2).toSorted(), deletions.pendingCount]).toEqual([["a", "b", "c"], 0]);
  await clock.tickAsync(1000);
  expect([clock.countTimers(), master.listeners.size]).toEqual([0, 0]);
});

test("What must have expired is dropped, with its listener and its timer", async () => {
  const { clock, master, deletions, remove } = bed();
  remove("a", 1000);
  await clock.tickAsync(999);
  expect(deletions.pendingCount).toBe(1);
  await clock.tickAsync(1100);
  expect([deletions.pendingCount, master.listeners.size, clock.countTimers()]).toEqual([0, 0, 0]);
});

test("Beyond a limit the expired ones are dropped first, and then the older half", async () => {
  const { clock, master, deletions, remove } = bed(100);
  for (let index = 0; index < 60; index += 1) remove("old", 10);
  await clock.tickAsync(11);
  for (let index = 0; index < 60; index += 1) remove(`${index}`);
  await clock.tickAsync(0);
  expect(deletions.pendingCount).toBe(60);
  for (let index = 60; index <= 100; index += 1) remove(`${index}`);
  await clock.tickAsync(0);
  expect(deletions.pendingCount).toBe(50);
  master.isUp = true;
  master.sent.length = 0;
  await clock.tickAsync(1000);
  expect([master.sent[0], master.sent.at(-1)]).toEqual(["51", "100"]);
});

test("A rollback that is over is not kept", async () => {
  setFlagsFromString("--expose-gc");
  const { master, deletions, remove } = bed();
  master.isUp = true;
  const rounds = Array.from({ length: 5 }, (_, index) => new WeakRef(remove(`${index}`)));
  await deletions.answered;
  // (A weak reference keeps what it was made of until the turn is over.)
  await turn();
  (runInNewContext("gc") as () => void)();
  expect(rounds.filter((round) => round.deref()).length).toBe(0);
});

test("Once stopped, nothing is pending or tried again", async () => {
  const { clock, master, deletions, remove } = bed();
  remove("a");
  await clock.tickAsync(10);
  deletions.stop();
  remove("b");
  await clock.tickAsync(10);
  expect([deletions.pendingCount, clock.countTimers(), master.listeners.size]).toEqual([0, 0, 0]);
});
