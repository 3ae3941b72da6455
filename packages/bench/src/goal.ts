import { figure, type Table } from "./table.ts";

/** What was measured beside what it should be at most, or at least. */
export interface Goal {
  readonly name: string;
  readonly measured: number;
  readonly limit: number;
  /** More is better: it should be the limit at least. */
  readonly isFloor?: boolean;
  readonly unit: string;
}

/** A goal that could not be measured is not met. */
export function isMet(goal: Goal): boolean {
  return goal.isFloor ? goal.measured >= goal.limit : goal.measured <= goal.limit;
}

export function goalsTable(goals: readonly Goal[]): Table {
  return {
    title: "Goals",
    columns: ["goal", "measured", "limit", "unit", ""],
    rows: goals.map((goal) => [
      goal.name,
      Number.isInteger(goal.measured) ? `${goal.measured}` : figure(goal.measured),
      `${goal.isFloor ? ">=" : "<="} ${Number(goal.limit.toPrecision(3))}`,
      goal.unit,
      isMet(goal) ? "met" : "short",
    ]),
    notes: ["Reported, never judged: the exit code says only whether something broke."],
  };
}
