import type { Measurement } from "../measure/rounds.ts";
import { type Goal, isMet } from "./goal.ts";
import type { Table } from "./table.ts";

/** What a run found, as it is stored: everything that is written or drawn of it comes from here. */
export interface Report {
  /** ISO 8601, the day. */
  readonly date: string;
  /** The machine, and all versions. */
  readonly machine: readonly string[];
  readonly sections: readonly Section[];
  readonly goals: readonly StoredGoal[];
}

/** What one workload found. */
export interface Section {
  readonly workload: string;
  readonly seconds: number;
  readonly tables: readonly Table[];
  readonly measurements: readonly Measurement[];
}

export interface StoredGoal extends Goal {
  readonly isMet: boolean;
}

export function storedGoal(goal: Goal): StoredGoal {
  return { ...goal, isMet: isMet(goal) };
}

/** Numbers to four figures; what is no number, since it failed or was not there, as null. */
export function jsonOf(report: Report): string {
  return `${JSON.stringify(report, (_, value: unknown) => shortened(value), 2)}\n`;
}

function shortened(value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : null;
}
