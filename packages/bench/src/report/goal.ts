import type { Spread } from "../measure/statistics.ts";
import { figure, type Table } from "./table.ts";

/** What was measured beside what it should be at most, or at least. */
export interface Goal {
  readonly name: string;
  readonly measured: number;
  readonly limit: number;
  /** More is better: it should be the limit at least. */
  readonly isFloor?: boolean;
  readonly unit: string;
  /** The rounds that `measured` is the median of. */
  readonly spread?: Spread;
  /** Steady enough from machine to machine that missing it by a factor of two is a mistake: `--short` then fails. */
  readonly isJudged?: boolean;
}

/** A goal that could not be measured is not met. */
export function isMet(goal: Goal): boolean {
  return goal.isFloor ? goal.measured >= goal.limit : goal.measured <= goal.limit;
}

/** Not even half of what it should be. */
export function isFarOff(goal: Goal): boolean {
  return !isMet({ ...goal, limit: goal.isFloor ? goal.limit / 2 : goal.limit * 2 });
}

/** A goal for a ratio of rounds; none where one of the two did not take part. */
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
