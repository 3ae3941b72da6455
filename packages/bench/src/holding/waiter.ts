import { setTimeout as pause } from "node:timers/promises";
import { openContender } from "../contenders/lineup.ts";
import { heapInUse } from "../measure/heap.ts";
import { task, tell } from "../processes/program.ts";
import type { HoldingMessage, WaitingTask } from "./messages.ts";

// Waits very often for locks that somebody else holds, in a heap in which there is nothing else.

/** What is asked of the masters for a new waiter has been answered by then, ms. */
const settlingTime = 3000;

const { contender: name, terms, prefix, count, isShared } = task() as WaitingTask;
const holder = await openContender(name, terms);
const contender = await openContender(name, terms);
const resources = Array.from({ length: count }, (_, index) => (isShared ? prefix : `${prefix}:${index}`));
for (const resource of new Set(resources)) await holder.acquire(resource);
const before = await heapInUse();
const begun = performance.now();
// Kept, as its caller would; each rejects when this process ends, at the latest.
const waiting = resources.map((resource) => contender.acquire(resource));
for (const one of waiting) one.catch(() => {});
await pause(settlingTime);
const settled: HoldingMessage = {
  kind: "settled",
  milliseconds: performance.now() - begun,
  bytesEach: ((await heapInUse()) - before) / waiting.length,
};
await tell(settled);
process.exit();
