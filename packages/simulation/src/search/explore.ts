import { allMarks, type Mark, type Verdict } from "../checkers/findings.ts";
import type { Plan } from "../plan/plan.ts";
import type { Trial } from "./runner.ts";

/** The combined results of many runs. */
export interface Exploration {
  readonly verdict: Verdict;
  readonly runs: number;
  readonly violated: readonly Trial[];
  readonly unknown: number;
  /** Locks asked for, and locks granted. */
  readonly attempts: number;
  readonly grants: number;
  readonly operations: number;
  readonly events: number;
  readonly leastMargin: number;
  readonly marks: ReadonlyMap<Mark, number>;
  /** Marks that no run reached. */
  readonly unreached: readonly Mark[];
}

/** Adds up what trials show until they end, or `isEnough`, asked after each, says so. */
export async function explore(
  trials: AsyncIterable<Trial>,
  isEnough: (trial: Trial, soFar: Tally) => boolean | Promise<boolean> = () => false,
): Promise<Exploration> {
  const tally = new Tally();
  for await (const trial of trials) {
    tally.add(trial);
    if (await isEnough(trial, tally)) break;
  }
  return tally.exploration;
}

/** The plans of `count` seeds, each by `planOf`. */
export function* plansOf(
  planOf: (seed: number) => Plan,
  from: number,
  count: number = Number.POSITIVE_INFINITY,
): Generator<Plan, void> {
  for (let seed = from; seed < from + count; seed += 1) yield planOf(seed);
}

/** Adds up trial after trial. */
export class Tally {
  runs = 0;
  unknown = 0;
  attempts = 0;
  operations = 0;
  events = 0;
  leastMargin: number = Number.POSITIVE_INFINITY;
  readonly violated: Trial[] = [];
  readonly marks: Map<Mark, number> = new Map();

  add(trial: Trial): void {
    const { outcome } = trial;
    this.runs += 1;
    this.attempts += outcome.attempts;
    this.operations += outcome.operations;
    this.events += outcome.events;
    this.leastMargin = Math.min(this.leastMargin, outcome.leastMargin);
    for (const [mark, count] of outcome.marks) this.marks.set(mark, (this.marks.get(mark) ?? 0) + count);
    if (outcome.verdict === "violated") this.violated.push(trial);
    if (outcome.verdict === "unknown") this.unknown += 1;
  }

  get exploration(): Exploration {
    const { runs, unknown, attempts, operations, events, leastMargin, violated, marks } = this;
    const verdict = violated.length > 0 ? "violated" : unknown > 0 || runs === 0 ? "unknown" : "ok";
    const unreached = allMarks.filter((mark) => !marks.has(mark));
    const grants = marks.get("granted") ?? 0;
    return {
      verdict,
      runs,
      violated,
      unknown,
      attempts,
      grants,
      operations,
      events,
      leastMargin,
      marks,
      unreached,
    };
  }
}
