import type { Mutant } from "./mutants.ts";

/** The task of one run of vitest. Without `active` it observes which test evaluates which mutant. */
export interface Plan {
  readonly mutants: readonly Mutant[];
  readonly active?: number;
  /** Test files in the order in which they run. */
  readonly order: readonly string[];
}

export interface TimedTest {
  readonly file: string;
  readonly line: number;
  readonly seconds: number;
  readonly hits: readonly number[];
}
