import type { Plan } from "../plan/plan.ts";
import { type Outcome, type RunOptions, runPlan } from "../run/run-plan.ts";

/** A run that ends early has another hash than the whole of it. */
export type StopAt = NonNullable<RunOptions["stopAt"]>;

/** Runs plans, here or in other threads. A plan comes to the same outcome wherever it runs. */
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

/** So many runs are begun before the first of them is looked at, for each that runs at a time: some take long. */
const runsAhead = 4;

/**
 * Runs all plans and gives them back in *their* order, whichever is through first: what is concluded from them does
 * not depend on the number of threads. Who stops early leaves some runs unused.
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
  // Whoever waits for it hears of an error; nobody may be waiting any more.
  running.catch(() => {});
  return running;
}
