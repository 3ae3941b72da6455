import { promisedPlan, record, type Subject, theClient } from "@quorlock/simulation";
import {
  guardedPlan,
  type Hunt,
  hunts,
  membershipPlan,
  mutatedClient,
  theOnce,
  theReadWriteLock,
  theSemaphore,
  watchedPlan,
} from "@quorlock/simulation/mutants";
import { type Verdict, verdictsOn } from "./replay.ts";
import type { Tools } from "./tools.ts";
import { type Trace, tracesOf } from "./trace.ts";

/** The seven seeds before it are the longest runs by far. */
const firstSeed = 8;
/** A beginning of a behaviour is a behaviour: runs are cut short after so many events, and traces after so many steps. */
const cuts = {
  quick: { events: 1500, steps: 150 },
  usual: { events: 4000, steps: 500 },
  mutant: { events: 6000, steps: 1000 },
};
/** Traces that TLC is given at once. */
const batch = 50;

/** Runs to hold against the specification: of whom, by which plans. */
const subjects = [
  { name: "lock", planOf: promisedPlan, subject: theClient },
  { name: "semaphore", planOf: promisedPlan, subject: theSemaphore },
  { name: "readers and writers", planOf: promisedPlan, subject: theReadWriteLock },
  { name: "once", planOf: promisedPlan, subject: theOnce },
  { name: "changing list", planOf: membershipPlan, subject: theClient },
  { name: "restart guard", planOf: guardedPlan, subject: theClient },
  { name: "clock watch", planOf: watchedPlan, subject: theClient },
] as const;
export const subjectNames: readonly string[] = subjects.map(({ name }) => name);

export interface TraceOptions {
  /** Shorter runs. */
  readonly quick: boolean;
  readonly say: (line: string) => void;
  readonly interrupted: AbortSignal;
}

/** Checks this number of runs, subject by subject and seed by seed. Returns those that are no behaviours of the specification. */
export async function checkClient(
  tools: Tools,
  runs: number,
  options: TraceOptions,
): Promise<readonly Verdict[]> {
  const refused: Verdict[] = [];
  let [traces, steps] = [0, 0];
  let deciding = Promise.resolve();
  for (let first = 0; first < runs; first += batch) {
    const last = Math.min(first + batch, runs) - 1;
    const recorded = await tracesFrom(first, last, options);
    await deciding;
    // While TLC decides of these, the next ones are recorded.
    deciding = verdictsOn(tools, recorded, options.interrupted).then((verdicts) => {
      const bad = verdicts.filter((verdict) => verdict.refused !== undefined);
      traces += verdicts.length;
      steps += verdicts.reduce((sum, { accepted }) => sum + accepted, 0);
      refused.push(...bad);
      const words = `${verdicts.length - bad.length} accepted, ${bad.length} refused`;
      options.say(`traces of the client, seeds ${seedOf(first)} to ${seedOf(last)}: ${words}`);
      for (const verdict of bad) for (const line of linesOf(verdict)) options.say(line);
    });
    deciding.catch(() => {});
  }
  await deciding;
  options.say(`traces of the client: ${traces - refused.length} of ${traces} accepted, ${steps} steps`);
  return refused;
}

/** Whether this one is a behaviour of the specification. */
export async function checkTrace(tools: Tools, trace: Trace, options: TraceOptions): Promise<boolean> {
  const [verdict] = await verdictsOn(tools, [trace], options.interrupted);
  const { accepted, refused } = verdict!;
  options.say(
    `${trace.name}: ${accepted} of ${trace.steps.length} steps accepted, ${trace.attempts} attempts`,
  );
  for (const line of linesOf(verdict!)) options.say(line);
  return refused === undefined;
}

/** The mutants of the client that a trace shows, with the first seed that does. */
export const shownByTraces: ReadonlyMap<string, number> = new Map([
  ["a client uses one token for ever", 8],
  ["a minority is a quorum", 8],
  ["half of the masters are a quorum", 41],
  ["no drift is taken off", 11],
  ["the time is read when the reply comes, not before the send", 12],
  ["an extension counts from its reply", 11],
  ["the deadline of a grant counts from its receipt", 14],
  ["a waiter uses one token in all its rounds", 10],
  ["the commands of a waiter touch the votes of all its rounds", 23],
  ["a lease lasts as long as its longest master", 8],
  ["the last to come is the first", 15],
  ["an extension may shorten a key", 11],
  ["a key that holds the token already is not renewed, and still counts", 11],
  ["a vote overwrites the token that is there", 8],
  ["a release deletes without comparing", 8],
  ["the key is set first and its expiry afterwards", 8],
  ["a master is sent what another one was asked", 8],
  ["a writer does not look for readers", 1],
  ["a reader does not look for the writer", 5],
  ["a key is granted beside those who hold it", 1],
]);

/** Runs of each of those mutants: the names of those whose trace is accepted. */
export async function checkMutants(tools: Tools, options: TraceOptions): Promise<readonly string[]> {
  const traces: Trace[] = [];
  for (const [name, seed] of shownByTraces) {
    options.interrupted.throwIfAborted();
    const hunt = hunts.find(({ mutants }) => mutants.some((one) => one.name === name));
    const mutant = hunt?.mutants.find((one) => one.name === name);
    if (!hunt || !mutant) throw new Error(`no mutant of the simulator has the name "${name}"`);
    const of = { planOf: hunt.planOf, subject: await mutatedClient(mutant) };
    const trace = await recorded(seed, `${name}, seed ${seed}`, "mutant", of);
    if (!trace) throw new Error(`"${name}": the run of seed ${seed} has no key`);
    traces.push(trace);
  }
  const verdicts = await verdictsOn(tools, traces, options.interrupted);
  for (const { trace, refused, accepted } of verdicts)
    options.say(
      refused
        ? `"${trace.name}": refused at step ${accepted + 1}: ${refused.words}`
        : `"${trace.name}": FAILED, accepted`,
    );
  return verdicts.filter(({ refused }) => refused === undefined).map(({ trace }) => trace.name);
}

async function tracesFrom(
  first: number,
  last: number,
  { interrupted, quick }: TraceOptions,
): Promise<Trace[]> {
  const traces: Trace[] = [];
  for (let run = first; run <= last; run += 1) {
    interrupted.throwIfAborted();
    const subject = subjects[run % subjects.length]!;
    const cut = quick ? "quick" : "usual";
    const trace = await recorded(seedOf(run), `${subject.name}, seed ${seedOf(run)}`, cut, subject);
    if (trace) traces.push(trace);
  }
  return traces;
}

function seedOf(run: number): number {
  return firstSeed + Math.floor(run / subjects.length);
}

/** Of the first resource that the run has a key for. */
async function recorded(
  seed: number,
  name: string,
  length: keyof typeof cuts,
  { planOf, subject }: Pick<Hunt, "planOf"> & { readonly subject: Subject },
): Promise<Trace | undefined> {
  const { events, steps } = cuts[length];
  let trace: Trace | undefined;
  // Most runs have all these steps in a quarter of the events, which takes a quarter of the time.
  for (const maxEvents of [events / 4, events])
    if (!trace || trace.steps.length < steps)
      [trace] = tracesOf(await record(planOf(seed), { maxEvents, subject }), name);
  return trace && { ...trace, steps: trace.steps.slice(0, steps) };
}

/** The step that is none, and what went before it on the same master or in the same attempt. */
function linesOf({ trace, accepted, refused }: Verdict): readonly string[] {
  if (!refused) return [];
  const before = trace.steps
    .slice(0, accepted)
    .filter(({ to, of }) => to === refused.to || of === refused.of)
    .slice(-6);
  return [
    `  ${trace.name}: step ${accepted + 1} is no step of the specification`,
    ...before.map(({ words }) => `    ${words}`),
    `  > ${refused.words}`,
  ];
}
