import { createHook } from "node:async_hooks";
import { acquireAndRelease, type Contender, type ContenderTerms } from "../contenders/contender.ts";
import { openContender } from "../contenders/lineup.ts";
import { warmUp } from "../measure/load.ts";
import { countSent } from "../measure/meter.ts";
import { median } from "../measure/statistics.ts";
import { sendToParent, task } from "./child.ts";

// Counts what one acquire and release allocates and sends; the result hardly depends on the machine. It runs in a process of
// its own, since counting slows the client.

export interface CountsTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  /** Concurrent callers. */
  readonly callers: number;
  readonly quick: boolean;
}

/** All figures are per acquire and release. */
export interface Counts {
  readonly kind: "counts";
  readonly promises: number;
  readonly timers: number;
  readonly kilobytes: number;
  readonly commands: number;
  readonly bytes: number;
}

/** Locks per sample. */
const locks = 32;
const tries = 9;
/** Idle turns of the event loop after which the last replies have arrived. */
const quietTurns = 300;

const { contender: name, terms, callers, quick } = task() as CountsTask;
const contender = await openContender(name, terms);

function quiet(): Promise<void> {
  return new Promise((resolve) => {
    let left = quietTurns;
    const turn = (): void => {
      left -= 1;
      if (left > 0) setImmediate(turn);
      else resolve();
    };
    turn();
  });
}

const resources = Array.from({ length: callers }, (_, caller) => `counts:${name}:${caller}`);

async function play(subject: Contender): Promise<void> {
  for (let left = locks; left > 0; left -= callers) {
    if (callers === 1) await acquireAndRelease(subject, resources[0]!);
    else await Promise.all(resources.map((resource) => acquireAndRelease(subject, resource)));
  }
  await quiet();
}

/** Locks nothing: the cost of the calls themselves, which is subtracted. */
const done = Promise.resolve();
const noop: Contender = {
  name: "noop",
  async acquire() {
    await done;
    return () => done;
  },
  ready: () => done,
  quit: () => done,
};

const least = (samples: readonly number[]): number => Math.min(...samples);

/** The median of some samples, or another pick: a late reply or a garbage collection changes single ones. */
async function each(
  count: (subject: Contender) => Promise<number>,
  pick: (samples: readonly number[]) => number = median,
): Promise<number> {
  const cycles = Math.ceil(locks / callers) * callers;
  const triesOf = async (subject: Contender): Promise<number> => {
    const counted: number[] = [];
    while (counted.length < tries) counted.push(await count(subject));
    return pick(counted);
  };
  return ((await triesOf(contender)) - (await triesOf(noop))) / cycles;
}

function made(type: string): (subject: Contender) => Promise<number> {
  return async (subject) => {
    let count = 0;
    const hook = createHook({
      init(_, its) {
        if (its === type) count += 1;
      },
    });
    hook.enable();
    await play(subject);
    hook.disable();
    return count;
  };
}

async function allocated(subject: Contender): Promise<number> {
  const before = process.memoryUsage().heapUsed;
  await play(subject);
  return process.memoryUsage().heapUsed - before;
}

function sent(what: "commands" | "bytes"): (subject: Contender) => Promise<number> {
  return async (subject) => {
    const counting = countSent();
    await play(subject);
    return counting.stop()[what];
  };
}

await warmUp([contender, noop], callers, { quick });
const counts: Counts = {
  kind: "counts",
  kilobytes: (await each(allocated)) / 1000,
  commands: await each(sent("commands")),
  bytes: await each(sent("bytes")),
  // A late reply makes more of them, and nothing makes fewer.
  promises: await each(made("PROMISE"), least),
  timers: await each(made("Timeout"), least),
};
await sendToParent(counts);
process.exit();
