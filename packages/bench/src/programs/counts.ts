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
import { task, tell } from "./child.ts";

// What one acquire and release makes and sends, whatever the machine: in a process of its own, since what counts also
// slows.

export interface CountsTask {
  readonly contender: string;
  readonly terms: ContenderTerms;
  /** How many at once. */
  readonly callers: number;
  readonly quick: boolean;
}

/** All for one acquire and release. */
export interface Counts {
  readonly kind: "counts";
  readonly promises: number;
  readonly timers: number;
  readonly kilobytes: number;
  readonly commands: number;
  readonly bytes: number;
  /** Functions of the client that are entered; only of ours, one at a time. */
  readonly acquire: number | undefined;
  readonly release: number | undefined;
}

/** Locks between two looks. */
const locks = 32;
const tries = 9;
/** Turns of the event loop in which nothing is asked: the last answers have come by then. */
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

/** Locks nothing: what the calls themselves make is nobody's. */
const done = Promise.resolve();
const nobody: Contender = {
  name: "nobody",
  async acquire() {
    await done;
    return () => done;
  },
  ready: () => done,
  quit: () => done,
};

/** The median of some tries: where a master answers late, or garbage is collected, it is another number. */
async function each(count: (subject: Contender) => Promise<number>): Promise<number> {
  const cycles = Math.ceil(locks / callers) * callers;
  const triesOf = async (subject: Contender): Promise<number> => {
    const counted: number[] = [];
    while (counted.length < tries) counted.push(await count(subject));
    return median(counted);
  };
  return ((await triesOf(contender)) - (await triesOf(nobody))) / cycles;
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

/** Of the built package, by precise coverage: the least of some tries, since a late answer enters more. */
async function entered(): Promise<Pick<Counts, "acquire" | "release">> {
  const session = new Session();
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const folder = new URL(".", builtEntry).href;
  const during = async (work: () => Promise<unknown>): Promise<number> => {
    await session.post("Profiler.takePreciseCoverage");
    await work();
    await quiet();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const functions = result
      .filter(({ url }) => url.startsWith(folder))
      .flatMap((script) => script.functions);
    return functions.filter(({ ranges }) => ranges[0]!.count > 0).length;
  };
  const acquires: number[] = [];
  const releases: number[] = [];
  while (acquires.length < tries) {
    await acquireAndRelease(contender, resources[0]!);
    let release: Release | undefined;
    const acquire = async (): Promise<void> => {
      release = await contender.acquire(resources[0]!);
    };
    acquires.push(await during(acquire));
    releases.push(await during(() => release!()));
  }
  return { acquire: Math.min(...acquires), release: Math.min(...releases) };
}

await warmUp([contender, nobody], callers, { quick });
const counts: Counts = {
  kind: "counts",
  kilobytes: (await each(allocated)) / 1000,
  commands: await each(sent("commands")),
  bytes: await each(sent("bytes")),
  promises: await each(made("PROMISE")),
  timers: await each(made("Timeout")),
  ...(name === ours && callers === 1 ? await entered() : { acquire: undefined, release: undefined }),
};
await tell(counts);
process.exit();
