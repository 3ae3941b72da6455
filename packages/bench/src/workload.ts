import type { Masters } from "@quorlock/testbed";
import type { Measurement } from "./measure/rounds.ts";
import type { Goal } from "./report/goal.ts";
import type { Table } from "./report/table.ts";

/** The extent of the measurement. */
export interface Scale {
  /** Fewer rounds and contenders; the numbers are rough. */
  readonly quick: boolean;
  /** Number of operations, for workloads that count them; `undefined`: the workload's default. */
  readonly cycles: number | undefined;
  /** Another checkout, whose scripts are compared. */
  readonly beside: string | undefined;
  /** The names of the contenders that take part. */
  readonly contenders: readonly string[];
}

export interface Findings {
  readonly tables: readonly Table[];
  readonly goals: readonly Goal[];
  /** The numbers behind the tables, for the JSON file and the chart. */
  readonly measurements?: readonly Measurement[];
}

/** One benchmark of the contenders. It leaves the masters as they were: running, and without locks. */
export interface Workload {
  /** The name for `--only`. */
  readonly name: string;
  /** Part of `--short`. */
  readonly inShort?: boolean;
  /** Runs only if named by `--only`: its results have a separate document. */
  readonly isApart?: boolean;
  run(masters: Masters, scale: Scale): Promise<Findings>;
}
