import { allMarks, type Mark, type Verdict } from "../checkers/findings.ts";
import type { EngineKind } from "../engine/engine.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { type Outcome, simulate } from "../run/simulate.ts";
import type { Subject } from "../run/subject.ts";

export interface ExploreOptions {
  readonly from: number;
  readonly seeds: number;
  readonly engine: EngineKind;
  readonly subject?: Subject;
  /** Called after each seed; false ends the exploration. */
  readonly onOutcome?: (seed: number, outcome: Outcome) => boolean;
}

/** What many seeds have shown together. */
export interface Exploration {
  readonly verdict: Verdict;
  readonly seeds: number;
  readonly violated: ReadonlyArray<{ readonly seed: number; readonly outcome: Outcome }>;
  readonly unknown: number;
  readonly operations: number;
  readonly events: number;
  readonly leastMargin: number;
  readonly marks: ReadonlyMap<Mark, number>;
  /** Marks that no seed reached. */
  readonly unreached: readonly Mark[];
}

/** Runs seed after seed inside the promised model. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const violated: Array<{ seed: number; outcome: Outcome }> = [];
  const marks = new Map<Mark, number>();
  const sum = { seeds: 0, unknown: 0, operations: 0, events: 0, leastMargin: Number.POSITIVE_INFINITY };
  for (let seed = options.from; seed < options.from + options.seeds; seed += 1) {
    const { engine, subject } = options;
    const outcome = await simulate(promisedPlan(seed), { engine, ...(subject ? { subject } : {}) });
    sum.seeds += 1;
    sum.operations += outcome.operations;
    sum.events += outcome.events;
    sum.leastMargin = Math.min(sum.leastMargin, outcome.leastMargin);
    for (const [mark, count] of outcome.marks) marks.set(mark, (marks.get(mark) ?? 0) + count);
    if (outcome.verdict === "violated") violated.push({ seed, outcome });
    if (outcome.verdict === "unknown") sum.unknown += 1;
    if (options.onOutcome?.(seed, outcome) === false) break;
  }
  const unreached = allMarks.filter((mark) => !marks.has(mark));
  // A seed that granted nothing shows nothing by itself; all of them together must show something.
  const isUnknown = sum.unknown === sum.seeds;
  const verdict = violated.length > 0 ? "violated" : isUnknown ? "unknown" : "ok";
  return { verdict, violated, marks, unreached, ...sum };
}
