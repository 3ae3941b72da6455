import type { Masters } from "@quorlock/testbed";
import type { Measurement } from "./measure/rounds.ts";
import type { Goal } from "./report/goal.ts";
import type { Table } from "./report/table.ts";

/** How much to measure. */
export interface Scale {
  /** Few of everything, to see that it works; the numbers are rough. */
  readonly quick: boolean;
  /** Operations, where a workload counts them; `undefined` leaves it to the workload. */
  readonly cycles: number | undefined;
  /** The names of those who take part. */
  readonly contenders: readonly string[];
}

export interface Findings {
  readonly tables: readonly Table[];
  readonly goals: readonly Goal[];
  /** The numbers behind the tables, for what is stored and drawn. */
  readonly measurements?: readonly Measurement[];
}

/** One question to the contenders. A workload leaves the masters as it found them: running, and empty of locks. */
export interface Workload {
  /** For `--only`. */
  readonly name: string;
  /** Part of `--short`: its judged goals decide about a change. */
  readonly inShort?: boolean;
  /** Runs only where it is named: it has a document of its own. */
  readonly isApart?: boolean;
  run(masters: Masters, scale: Scale): Promise<Findings>;
}
