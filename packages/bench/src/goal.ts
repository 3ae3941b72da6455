import { figure, type Table } from "./table.ts";

/** What was measured beside what it should be at most. */
export interface Goal {
  readonly name: string;
  readonly measured: number;
  readonly limit: number;
  readonly unit: string;
}

/** A goal that could not be measured is not met. */
export function isMet(goal: Goal): boolean {
  return goal.measured <= goal.limit;
}

export function goalsTable(goals: readonly Goal[]): Table {
  return {
    title: "Goals",
    columns: ["goal", "measured", "at most", "unit", ""],
    rows: goals.map((goal) => [
      goal.name,
      Number.isInteger(goal.measured) ? `${goal.measured}` : figure(goal.measured),
      `${goal.limit}`,
      goal.unit,
      isMet(goal) ? "met" : "short",
    ]),
    notes: ["Reported, never judged: the exit code says only whether something broke."],
  };
}
