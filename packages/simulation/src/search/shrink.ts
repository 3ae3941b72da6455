import type { ViolationKind } from "../checkers/findings.ts";
import { until } from "../command-line/interruption.ts";
import type { Plan } from "../plan/plan.ts";
import type { Outcome } from "../run/run-plan.ts";
import { ddmin } from "./ddmin.ts";
import { mostTelling } from "./most-telling.ts";
import { inOrder, type Runner } from "./runner.ts";
import { endedEarly, type Simplification, simplifications } from "./simplify.ts";

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
  const outcome = await runner.run(plan);
  const kind = wanted ?? mostTelling(outcome.violations)?.kind;
  if (kind === undefined || !shows(outcome, kind)) return undefined;
  const search = new Search(runner, { plan, outcome, kind }, interrupted, onStep);
  await search.reduce();
  const shrunk = search.result;
  // Until here each run ended at its violation.
  return { ...shrunk, outcome: await runner.run(shrunk.plan) };
}

function shows({ violations }: Outcome, kind: ViolationKind): boolean {
  return violations.some((violation) => violation.kind === kind);
}

class Search {
  readonly #runner: Runner;
  readonly #interrupted: AbortSignal;
  readonly #onStep: ShrinkOptions["onStep"];
  #best: Omit<Shrunk, "runs">;
  #runs = 1;

  constructor(
    runner: Runner,
    start: Omit<Shrunk, "runs">,
    interrupted: AbortSignal,
    onStep: ShrinkOptions["onStep"],
  ) {
    this.#runner = runner;
    this.#best = start;
    this.#interrupted = interrupted;
    this.#onStep = onStep;
  }

  get result(): Shrunk {
    return { ...this.#best, runs: this.#runs };
  }

  /** Again from the start after each round that found something: what goes makes room for more to go. */
  async reduce(): Promise<void> {
    for (let before: Plan | undefined; before !== this.#best.plan; ) {
      before = this.#best.plan;
      const { outcome, kind } = this.#best;
      await this.#adoptFirst([...endedEarly(before, outcome, kind)]);
      await ddmin(this.#best.plan.faults, (subsets) =>
        this.#adoptFirst(subsets.map((faults) => ({ ...this.#best.plan, faults }))),
      );
      for (const simplification of simplifications) await this.#exhaust(simplification);
    }
  }

  async #exhaust(simplification: Simplification): Promise<void> {
    while ((await this.#adoptFirst([...simplification(this.#best.plan)])) !== undefined);
  }

  /** The first of `plans` that still shows it becomes the best; its index, or nothing where none does. */
  async #adoptFirst(plans: readonly Plan[]): Promise<number | undefined> {
    let index = 0;
    const trials = until(this.#interrupted, inOrder(this.#runner, plans, this.#best.kind));
    for await (const { plan, outcome } of trials) {
      this.#runs += 1;
      if (shows(outcome, this.#best.kind)) {
        this.#best = { ...this.#best, plan, outcome };
        this.#onStep?.(plan, this.#runs);
        return index;
      }
      index += 1;
    }
    return undefined;
  }
}
