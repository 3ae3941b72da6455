import { DefaultMap } from "../default-map.ts";
import type { Plan } from "../plan/plan.ts";
import { type Outcome, runPlan } from "../run/run-plan.ts";
import type { StopAt } from "../search/runner.ts";
import { subjectNamed } from "./edition.ts";

// The code of a worker thread. Its input and output are plain data.

export interface TrialTask {
  readonly plan: Plan;
  /** By name: a client cannot be sent to another thread. */
  readonly subject: string;
  readonly stopAt?: StopAt;
}

const subjects = new DefaultMap(subjectNamed);

// Simulated masters fail thousands of times in a run: stack traces of these errors cost time and are never read.
Error.stackTraceLimit = 0;

export default async function runTrial({ plan, subject: name, ...options }: TrialTask): Promise<Outcome> {
  const subject = await subjects.get(name);
  if (!subject) throw new Error(`there is no subject "${name}"`);
  return runPlan(plan, { ...options, subject });
}
