import type { Settings } from "@quorlock/redlock";
import type { Verdict } from "../checkers/findings.ts";
import type { TraceValue } from "../engine/trace.ts";
import type { Fault, FaultName } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { planOfSeed } from "./plan-of-seed.ts";
import { type CodeRun, runUserCode, type UserCode } from "./run-user-code.ts";
import { checkSimulateOptions, type SimulateOptions, withFaults } from "./simulate-options.ts";

export type { SimulateOptions } from "./simulate-options.ts";

export interface SimulateResult {
  /** `unknown`: no run of the code came to its end. */
  readonly verdict: Verdict;
  /** Runs that were made: up to the first that was violated. */
  readonly runs: number;
  /** How often the code ran to its end, in all runs. */
  readonly completed: number;
  /** How often a lock was refused or lost. */
  readonly refused: number;
  /** The violation, with the seed that shows it again; undefined if there is none. */
  readonly violation: string | undefined;
  readonly seed: number | undefined;
  /**
   * The events that led to it, a line each: calls to the resource and faults, from the last action of the client in
   * question.
   */
  readonly story: readonly string[];
}

const defaultTtl = 1000;

/**
 * Puts code that relies on a lock to the test: against drifting clocks, pauses, crashes and slow networks, in virtual
 * time. Stops at the first run in which something is violated.
 *
 * Your code must take time and randomness from its context only, and do nothing but promises otherwise.
 *
 * Rejects with an `InvalidArgumentError` for an unknown option, a value out of range, an
 * invariant that returns a promise, a generator, a number, null or an object, or a client that returns no promise.
 */
export async function simulate<Resource extends object>(
  options: SimulateOptions<Resource>,
): Promise<SimulateResult> {
  checkSimulateOptions(options);
  const { seed, seeds = 100, rounds = 5, ttl = defaultTtl, resource, client, invariant = () => {} } = options;
  const settings = { waitTimeout: 10 * ttl, ...options.settings };
  const code: UserCode<Resource> = { resource, client, invariant, rounds, settings };
  const first = seed ?? 1;
  const last = seed ?? seeds;
  const sum = { runs: 0, completed: 0, refused: 0 };
  for (let current = first; current <= last; current += 1) {
    const plan = planOf(current, options);
    const run = await runUserCode(plan, code, options.onEvent);
    sum.runs += 1;
    sum.completed += run.completed;
    sum.refused += run.refused;
    if (run.verdict === "violated") {
      const violation = textOf(run);
      return { verdict: "violated", ...sum, violation, seed: current, story: await storyOf(plan, code) };
    }
  }
  const verdict = sum.completed > 0 ? "ok" : "unknown";
  return { verdict, ...sum, violation: undefined, seed: undefined, story: [] };
}

/** Settings that the plan needs: clocks and latencies are drawn in proportion to these times. */
const defaults = {
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
};

/** The client's default, as its documentation gives it. */
function nodeTimeoutFor(ttl: number, { nodeTimeout }: Partial<Settings>): number {
  return nodeTimeout ?? Math.min(Math.max(ttl / 20, 50), 500, Math.max(1, ttl / 4));
}

function planOf<Resource extends object>(seed: number, options: SimulateOptions<Resource>): Plan {
  const { ttl = defaultTtl, clients = 3, masters = 5, settings = {}, faults } = options;
  const exact = faults?.some((fault) => typeof fault === "object") === true;
  const kinds = exact ? [] : (faults as readonly FaultName[] | undefined);
  const drawnFor = { ...defaults, ttl, nodeTimeout: nodeTimeoutFor(ttl, settings) };
  const plan = planOfSeed(seed, { masters, clients, settings: drawnFor, ...(kinds ? { kinds } : {}) });
  return exact ? withFaults(plan, faults as readonly Fault[]) : plan;
}

function textOf({ violations }: CodeRun): string {
  const [first] = violations;
  return first ? `${first.kind} at ${first.at.toFixed(3)} ms: ${first.detail}` : "";
}

/** The same run once more, with its calls and faults in words. */
async function storyOf<Resource extends object>(
  plan: Plan,
  code: UserCode<Resource>,
): Promise<readonly string[]> {
  const entries: Array<{ readonly time: number; readonly words: readonly TraceValue[] }> = [];
  const { violations } = await runUserCode(plan, code, (time, words) => {
    const [actor, verb] = words;
    if (actor === "fault" || verb === "calls" || verb === "has done") entries.push({ time, words });
  });
  const end = (violations[0]?.at ?? Number.POSITIVE_INFINITY) * 1000;
  const before = entries.filter(({ time }) => time <= end);
  // From where the client whose call was the last straw made the call before that one: what it acted upon.
  const culprit = before.at(-1)?.words.at(-1);
  const calls = before.flatMap(({ words }, index) =>
    words[0] === culprit && words[1] === "calls" ? [index] : [],
  );
  return before
    .slice(calls.at(-2) ?? 0)
    .map(({ time, words }) => `${(time / 1000).toFixed(3)} ms: ${words.join(" ")}`);
}
