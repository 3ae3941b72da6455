import type { ViolationKind } from "../checkers/findings.ts";
import { until } from "../command-line/interruption.ts";
import type { Plan } from "../plan/plan.ts";
import type { Outcome } from "../run/run-plan.ts";
import { ddmin } from "./ddmin.ts";
import { mostTelling } from "./most-telling.ts";
import { inOrder, type Runner } from "./runner.ts";
import { endedEarly, simplifications } from "./simplify.ts";

export interface Shrunk {
  readonly plan: Plan;
  readonly outcome: Outcome;
  /** The kind of violation, the same in the first plan and in the shrunk one. */
  readonly kind: ViolationKind;
  /** Runs that it took. */
  readonly runs: number;
}

export interface ShrinkOptions {
  /** The violation to keep. Default: the most telling one. */
  readonly kind?: ViolationKind;
  /** Called whenever something could be left out. */
  readonly onStep?: (plan: Plan, runs: number) => void;
  /** Ends the search early; the smallest plan so far is the result. */
  readonly interrupted?: AbortSignal;
}

/**
 * The least plan that still violates the same: delta debugging over its faults, then whatever else can be left
 * out or made smaller, until nothing can. Nothing is returned where `plan` violates nothing.
 */
export async function shrink(
  plan: Plan,
  runner: Runner,
  { kind: wanted, onStep, interrupted = new AbortController().signal }: ShrinkOptions = {},
): Promise<Shrunk | undefined> {
  let best = { plan, outcome: await runner.run(plan) };
  let runs = 1;
  const kind = wanted ?? mostTelling(best.outcome.violations)?.kind;
  const shows = ({ violations }: Outcome): boolean => violations.some((violation) => violation.kind === kind);
  if (kind === undefined || !shows(best.outcome)) return undefined;

  /** The first of `plans` that still shows it becomes the best; its index, or nothing where none does. */
  const adoptFirst = async (plans: readonly Plan[]): Promise<number | undefined> => {
    let index = 0;
    for await (const trial of until(interrupted, inOrder(runner, plans, kind))) {
      runs += 1;
      if (shows(trial.outcome)) {
        best = trial;
        onStep?.(best.plan, runs);
        return index;
      }
      index += 1;
    }
    return undefined;
  };

  // Again from the start after each round that found something: what goes makes room for more to go.
  for (let before: Plan | undefined; before !== best.plan; ) {
    before = best.plan;
    await adoptFirst([...endedEarly(before, best.outcome, kind)]);
    await ddmin(best.plan.faults, (subsets) =>
      adoptFirst(subsets.map((faults) => ({ ...best.plan, faults }))),
    );
    for (const simplification of simplifications)
      while ((await adoptFirst([...simplification(best.plan)])) !== undefined);
  }
  // Until here each run ended at its violation.
  return { plan: best.plan, kind, runs, outcome: await runner.run(best.plan) };
}
