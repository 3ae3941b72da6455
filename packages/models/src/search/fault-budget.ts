import type { Field, Layout, State } from "./layout.ts";
import type { Step } from "./model.ts";

/** Limits the total number of steps of the kind "fault". The remaining number is part of the state. */
export class FaultBudget {
  readonly #spent: Field;
  readonly #limit: number;

  constructor(layout: Layout, limit: number) {
    this.#spent = layout.field([]);
    this.#limit = limit;
  }

  limited(now: State, step: Step): Step {
    const spent = this.#spent.get(now);
    return (story, change, kind) => {
      if (kind !== "fault") return step(story, change);
      if (spent >= this.#limit) return;
      const charged = (next: State): void => {
        change(next);
        this.#spent.set(next, spent + 1);
      };
      step(story, charged, "fault");
    };
  }
}
