import { promisedPlan, record, type Subject } from "@quorlock/simulation";
import { hunts, mutatedClient } from "@quorlock/simulation/mutants";
import { type Verdict, verdictsOn } from "./replay.ts";
import type { Tools } from "./tools.ts";
import { type Trace, tracesOf } from "./trace.ts";

/** The seven seeds before it are the longest runs by far. */
const firstSeed = 8;
/** A beginning of a behaviour is a behaviour: runs are cut short after so many events, and traces after so many steps. */
const cuts = { quick: { events: 1500, steps: 150 }, usual: { events: 4000, steps: 500 } };
/** Traces that TLC is given at once. */
const batch = 50;

export interface TraceOptions {
  /** Shorter runs. */
  readonly quick: boolean;
  readonly say: (line: string) => void;
  readonly interrupted: AbortSignal;
}

/** Runs of the client, one of each seed: the number of traces, and those that are no behaviours of the specification. */
export async function checkClient(
  tools: Tools,
  seeds: number,
  options: TraceOptions,
): Promise<{ readonly traces: number; readonly refused: readonly Verdict[] }> {
  const refused: Verdict[] = [];
  let traces = 0;
  let steps = 0;
  for (let first = firstSeed; first < firstSeed + seeds; first += batch) {
    const last = Math.min(first + batch, firstSeed + seeds) - 1;
    const verdicts = await verdictsOn(tools, await tracesFrom(first, last, options), options.interrupted);
    traces += verdicts.length;
    steps += verdicts.reduce((sum, { accepted }) => sum + accepted, 0);
    const bad = verdicts.filter((verdict) => verdict.refused !== undefined);
    refused.push(...bad);
    options.say(
      `traces of the client, seeds ${first} to ${last}: ${verdicts.length - bad.length} accepted, ${bad.length} refused`,
    );
    for (const verdict of bad) for (const line of linesOf(verdict)) options.say(line);
  }
  options.say(`traces of the client: ${traces - refused.length} of ${traces} accepted, ${steps} steps`);
  return { traces, refused };
}

/** The mutants of the client that a trace shows, with the first seed that does. */
export const shownByTraces: ReadonlyMap<string, number> = new Map([
  ["a client uses one token for ever", 8],
  ["a minority is a quorum", 8],
  ["half of the masters are a quorum", 41],
  ["no drift is taken off", 11],
  ["the time is read when the reply comes, not before the send", 12],
  ["an extension counts from its reply", 11],
  ["the deadline of a grant counts from its receipt", 9],
  ["a waiter uses one token in all its rounds", 10],
  ["a vote overwrites the token that is there", 8],
  ["a release deletes without comparing", 8],
  ["the key is set first and its expiry afterwards", 8],
  ["a master is sent what another one was asked", 8],
]);

/** Runs of each of those mutants: the names of those whose trace is accepted. */
export async function checkMutants(tools: Tools, options: TraceOptions): Promise<readonly string[]> {
  const mutants = hunts.flatMap((hunt) => hunt.mutants);
  const traces: Trace[] = [];
  for (const [name, seed] of shownByTraces) {
    options.interrupted.throwIfAborted();
    const mutant = mutants.find((one) => one.name === name);
    if (!mutant) throw new Error(`no mutant of the simulator has the name "${name}"`);
    const trace = await recorded(seed, `${name}, seed ${seed}`, false, await mutatedClient(mutant));
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
  for (let seed = first; seed <= last; seed += 1) {
    interrupted.throwIfAborted();
    const trace = await recorded(seed, `seed ${seed}`, quick);
    if (trace) traces.push(trace);
  }
  return traces;
}

/** Of the first resource that the run has a key for. */
async function recorded(
  seed: number,
  name: string,
  quick: boolean,
  subject?: Subject,
): Promise<Trace | undefined> {
  const options = subject ? { subject } : {};
  const cut = quick ? cuts.quick : cuts.usual;
  const recording = await record(promisedPlan(seed), { maxEvents: cut.events, ...options });
  const [trace] = tracesOf(recording, name);
  return trace && { ...trace, steps: trace.steps.slice(0, cut.steps) };
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
