import type { State } from "./layout.ts";
import type { Model } from "./model.ts";
import type { Symmetry } from "./symmetry.ts";

/**
 * Describes the steps along `way`, one line each. The states of a search represent symmetric ones, and the names of
 * nodes and clients change from one to the next. Here the steps are taken again from an actual state, so names stay
 * the same.
 */
export function tell(model: Model, symmetry: Symmetry, way: readonly State[]): string[] {
  const standIn = (state: State): State => {
    const copy = state.slice();
    symmetry.canonicalise(copy);
    return copy;
  };
  let now = model.initial.find((state) => isSame(standIn(state), way[0]!))!;
  return way.slice(1).map((goal) => {
    let line: string | undefined;
    let after = now;
    model.steps(now, (story, change) => {
      if (line !== undefined) return;
      const next = now.slice();
      change(next);
      if (!isSame(standIn(next), goal)) return;
      line = story();
      after = next;
    });
    if (line === undefined) throw new Error("the model treats interchangeable things differently");
    now = after;
    return line;
  });
}

function isSame(one: State, other: State): boolean {
  return one.every((value, cell) => value === other[cell]);
}
