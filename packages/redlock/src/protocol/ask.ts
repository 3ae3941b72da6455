import type { Context } from "./context.ts";
import type { Question } from "./node.ts";
import type { RoundClaim } from "./question.ts";
import { Round, type RoundPlan } from "./round.ts";

type Terms = Pick<RoundPlan, "timeout"> &
  Partial<Pick<RoundPlan, "maxTimeout" | "followUp" | "onAnswer" | "isDecided">>;

/**
 * A round for a claim: a vote, a queue entry, an extension, a repair. The caller asks directly afterwards, since it reads the
 * clocks (PROTOCOL 2.4).
 */
export function roundFor(
  { nodes, runtime, clock, log, report }: Pick<Context, "nodes" | "runtime" | "clock" | "log" | "report">,
  claim: RoundClaim,
  question: Question,
  { timeout, maxTimeout, followUp, onAnswer, isDecided }: Terms,
): Round {
  // Always the same properties in the same order: an engine finds those without a lookup.
  return new Round({
    nodes,
    runtime,
    clock,
    timeout,
    maxTimeout,
    log,
    report,
    question,
    followUp,
    claim,
    onAnswer,
    isDecided,
  });
}
