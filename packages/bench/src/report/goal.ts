import type { Spread } from "../measure/statistics.ts";
import { figure, type Table } from "./table.ts";

/** A measured value with its limit, an upper or a lower one. */
export interface Goal {
  readonly name: string;
  readonly measured: number;
  readonly limit: number;
  /** The limit is a minimum: more is better. */
  readonly isFloor?: boolean;
  readonly unit: string;
  /** The spread of the rounds; `measured` is their median. */
  readonly spread?: Spread;
  /** Stable across machines: missing it by a factor of two is a regression, and `--short` fails. */
  readonly isJudged?: boolean;
}

/** A goal that could not be measured is not met. */
export function isMet(goal: Goal): boolean {
  return goal.isFloor ? goal.measured >= goal.limit : goal.measured <= goal.limit;
}

/** Missed by a factor of two or more. */
export function isFarOff(goal: Goal): boolean {
  return !isMet({ ...goal, limit: goal.isFloor ? goal.limit / 2 : goal.limit * 2 });
}

/** A goal for a ratio of rounds; none if one of the two contenders did not take part. */
export function ratioGoal(
  name: string,
  spread: Spread | undefined,
  goal: Pick<Goal, "limit" | "unit" | "isFloor" | "isJudged">,
): readonly Goal[] {
  if (!spread) return [];
  return [{ name, measured: spread.median, spread, isJudged: true, ...goal }];
}

export function goalsTable(goals: readonly Goal[], note: string): Table {
  return {
    title: "Goals",
    columns: ["goal", "measured", "95 %", "limit", "unit", ""],
    rows: goals.map((goal) => [
      goal.name,
      Number.isInteger(goal.measured) ? `${goal.measured}` : figure(goal.measured),
      goal.spread ? `${figure(goal.spread.low)}..${figure(goal.spread.high)}` : "",
      `${goal.isFloor ? ">=" : "<="} ${Number(goal.limit.toPrecision(3))}`,
      goal.unit,
      isMet(goal) ? "met" : "short",
    ]),
    notes: [note],
  };
}
