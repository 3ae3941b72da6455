import type { Plan } from "../plan/plan.ts";
import { type Outcome, type RunOptions, runPlan } from "../run/run-plan.ts";

/** A run that ends early has another hash than the whole of it. */
export type StopAt = NonNullable<RunOptions["stopAt"]>;

/** Runs plans, here or in other threads. A plan has the same outcome wherever it runs. */
export interface Runner {
  /** How many run at a time. */
  readonly width: number;
  run(plan: Plan, stopAt?: StopAt): Promise<Outcome>;
}

export interface Trial {
  readonly plan: Plan;
  readonly outcome: Outcome;
}

/** One run after the other, in this thread. */
export function localRunner(options: RunOptions = {}): Runner {
  return {
    width: 1,
    run: (plan, stopAt) => runPlan(plan, { ...options, ...(stopAt === undefined ? {} : { stopAt }) }),
  };
}

/** Runs in flight for each thread before the first of them is awaited: some take long. */
const runsAhead = 4;

/**
 * Runs all plans and yields their outcomes in *their* order, whichever finishes first: conclusions do not depend on
 * the number of threads. A caller that stops early discards some runs.
 */
export async function* inOrder(
  runner: Runner,
  plans: Iterable<Plan>,
  stopAt?: StopAt,
): AsyncGenerator<Trial, void, void> {
  const ahead = runner.width === 1 ? 1 : runner.width * runsAhead;
  const begun: Array<Promise<Trial>> = [];
  for (const plan of plans) {
    begun.push(trial(runner, plan, stopAt));
    if (begun.length >= ahead) yield await begun.shift()!;
  }
  for (const next of begun) yield await next;
}

function trial(runner: Runner, plan: Plan, stopAt?: StopAt): Promise<Trial> {
  const running = runner.run(plan, stopAt).then((outcome) => ({ plan, outcome }));
  // The consumer receives an error; there may be no consumer any more.
  running.catch(() => {});
  return running;
}
