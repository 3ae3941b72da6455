import { setTimeout as pause } from "node:timers/promises";
import type { Contender } from "../contenders/contender.ts";
import { openContender } from "../contenders/lineup.ts";
import { heapInUse } from "../measure/heap.ts";
import { heard, task, tell } from "../processes/program.ts";
import type { HoldingMessage, HoldingTask, WatchOrder } from "./messages.ts";

// Holds very many locks that the library keeps extended, in a heap in which there is nothing else.

/** So many are acquired at a time. */
const chains = 100;
const warmUps = 200;

const { contender: name, terms, prefix, count } = task() as HoldingTask;

/** What whoever holds waits for. Exported, so that it is kept, and with it all that waits for it. */
export const never: Promise<void> = new Promise(() => {});

/** Runs routines and has a signal for each, as all do, but locks nothing: what it takes is nobody's. */
const bare: Pick<Contender, "using"> = {
  async using(_resource, routine) {
    const controller = new AbortController();
    try {
      await routine();
    } finally {
      controller.abort();
    }
  },
};

/** Resolves when all are held; who holds them waits for `released`. */
async function holdAll(
  contender: Pick<Contender, "using">,
  resources: readonly string[],
  released: Promise<void>,
): Promise<void> {
  let next = 0;
  const chain = async (): Promise<void> => {
    while (next < resources.length) {
      const resource = resources[next]!;
      next += 1;
      await new Promise<void>((held, failed) => {
        const routine = (): Promise<void> => {
          held();
          return released;
        };
        contender.using!(resource, routine).catch(failed);
      });
    }
  };
  await Promise.all(Array.from({ length: chains }, chain));
}

const contender = await openContender(name, terms);
// Names that would take memory of their own are made before it is looked at.
const resources = Array.from({ length: count }, (_, index) => `${prefix}:${index}`);
const warmUpNames = Array.from({ length: warmUps }, (_, index) => `${prefix}:warm-up:${index}`);
let release = (): void => {};
const warmedUp = new Promise<void>((resolve) => {
  release = resolve;
});
await holdAll(contender, warmUpNames, warmedUp);
release();
const empty = await heapInUse();
await holdAll(bare, resources, never);
const before = await heapInUse();
const begun = performance.now();
await holdAll(contender, resources, never);
const milliseconds = performance.now() - begun;
const bytesEach = ((await heapInUse()) - before) / count;
const settled: HoldingMessage = {
  kind: "settled",
  milliseconds,
  bytesEach,
  bytesOfItsOwn: bytesEach - (before - empty) / count,
};
await tell(settled);

const order = (await heard()) as WatchOrder;
const cpuBefore = process.cpuUsage();
await pause(order.milliseconds);
const { user, system } = process.cpuUsage(cpuBefore);
const watched: HoldingMessage = { kind: "watched", clientCpu: user + system };
await tell(watched);
process.exit();
