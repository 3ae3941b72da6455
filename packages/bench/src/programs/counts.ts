import { createHook } from "node:async_hooks";
import { Session } from "node:inspector/promises";
import {
  acquireAndRelease,
  type Contender,
  type ContenderTerms,
  type Release,
} from "../contenders/contender.ts";
import { openContender, ours } from "../contenders/lineup.ts";
import { builtEntry } from "../contenders/ours.ts";
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
  /** Counted only for ours, with one caller; `test/process/road.test.ts` bounds the files. */
  readonly acquire: Entered | undefined;
  readonly release: Entered | undefined;
}

/** The functions of the client that a call enters, and the files that they are in. */
interface Entered {
  readonly functions: number;
  readonly files: number;
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

/** By precise coverage: the least of some samples, since a late reply enters more. */
async function entered(): Promise<Pick<Counts, "acquire" | "release">> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const folder = new URL(".", builtEntry).href;
  const during = async (work: () => Promise<unknown>): Promise<Entered> => {
    await session.post("Profiler.takePreciseCoverage");
    await work();
    await quiet();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const files = result
      .filter(({ url }) => url.startsWith(folder))
      // (`__name` is of the tool that runs TypeScript, and not in what is published.)
      .map(({ functions }) =>
        functions.filter(({ functionName, ranges }) => functionName !== "__name" && ranges[0]!.count > 0),
      )
      .filter(({ length }) => length > 0);
    return { functions: files.flat().length, files: files.length };
  };
  const acquires: Entered[] = [];
  const releases: Entered[] = [];
  while (acquires.length < tries) {
    await acquireAndRelease(contender, resources[0]!);
    await quiet();
    let release: Release | undefined;
    const acquire = async (): Promise<void> => {
      release = await contender.acquire(resources[0]!);
    };
    acquires.push(await during(acquire));
    releases.push(await during(() => release!()));
  }
  return { acquire: leastOf(acquires), release: leastOf(releases) };
}

function leastOf(samples: readonly Entered[]): Entered {
  return samples.reduce((least, one) => (one.functions < least.functions ? one : least));
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
  ...(name === ours && callers === 1 ? await entered() : { acquire: undefined, release: undefined }),
};
await sendToParent(counts);
process.exit();
