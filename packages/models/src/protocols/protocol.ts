import type { Layout, State } from "../search/layout.ts";
import type { Model, Step } from "../search/model.ts";

/** A protocol as a model, or a mutant of it: the same with one rule broken. At first every cell is 0. */
export abstract class Protocol<Mutant extends string> implements Model {
  readonly layout: Layout;
  readonly initial: readonly State[];
  abstract readonly sights: Model["sights"];
  readonly #mutant: Mutant | undefined;

  constructor(layout: Layout, mutant: Mutant | undefined) {
    this.layout = layout;
    this.initial = [layout.blank()];
    this.#mutant = mutant;
  }

  abstract steps(now: State, step: Step): void;
  abstract violation(now: State): string | undefined;

  /** Whether this is that mutant. */
  protected is(mutant: Mutant): boolean {
    return this.#mutant === mutant;
  }
}
