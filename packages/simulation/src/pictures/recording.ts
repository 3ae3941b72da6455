import type { TraceValue } from "../engine/trace.ts";
import type { Plan } from "../plan/plan.ts";
import { type Outcome, type RunOptions, runPlan } from "../run/run-plan.ts";

/** One entry of the trace: who did what, when. */
export interface TraceEvent {
  /** True time, us. */
  readonly at: number;
  readonly actor: string;
  readonly verb: string;
  readonly args: readonly TraceValue[];
}

/** A run as it can be drawn: what was planned, what came of it, and everything that happened. */
export interface Recording {
  readonly plan: Plan;
  readonly outcome: Outcome;
  /** In the order of the trace. A stalled process is ahead of it. */
  readonly events: readonly TraceEvent[];
}

/** Runs a plan and keeps its whole trace. */
export async function record(plan: Plan, options: Omit<RunOptions, "onEvent"> = {}): Promise<Recording> {
  const events: TraceEvent[] = [];
  const onEvent = (at: number, [actor, verb, ...args]: readonly TraceValue[]): void => {
    events.push({ at, actor: String(actor), verb: String(verb), args });
  };
  const outcome = await runPlan(plan, { ...options, onEvent });
  return { plan, outcome, events };
}
