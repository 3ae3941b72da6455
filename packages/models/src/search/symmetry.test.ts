import { describe, expect, it } from "vitest";
import { Layout } from "./layout.ts";
import { permutations, Symmetry } from "./symmetry.ts";

describe("Symmetry", () => {
  const layout = new Layout();
  const nodes = layout.sort(3, { interchangeable: true });
  const attempts = layout.sort(2, { interchangeable: true });
  const rounds = layout.sort(2, { interchangeable: false });
  const owner = layout.field([nodes], attempts);
  const asked = layout.field([attempts, nodes, rounds]);
  const symmetry = new Symmetry(layout.sorts, layout);

  function canonical(state: Uint8Array): string {
    const copy = state.slice();
    symmetry.canonicalise(copy);
    return copy.join("");
  }

  /** The same with other names, worked out apart from the class. */
  function renamed(
    state: Uint8Array,
    nodeNames: readonly number[],
    attemptNames: readonly number[],
  ): Uint8Array {
    const result = layout.blank();
    for (const node of nodes.all) {
      const of = owner.get(state, node);
      owner.set(result, of === 0 ? 0 : attemptNames[of - 1]!, nodeNames[node - 1]);
      for (const attempt of attempts.all) {
        for (const round of rounds.all) {
          const value = asked.get(state, attempt, node, round);
          asked.set(result, value, attemptNames[attempt - 1], nodeNames[node - 1], round);
        }
      }
    }
    return result;
  }

  it("has one representative for a state under all names, and another for any other state", () => {
    const state = layout.blank();
    for (let cell = 0; cell < state.length; cell += 1) state[cell] = (cell * 7) % 3;
    for (const nodeNames of permutations([1, 2, 3])) {
      for (const attemptNames of permutations([1, 2])) {
        expect(canonical(renamed(state, nodeNames, attemptNames))).toBe(canonical(state));
      }
    }
    const other = state.slice();
    owner.set(other, owner.get(state, 1) === 0 ? 1 : 0, 1);
    expect(canonical(other)).not.toBe(canonical(state));
  });

  it("does not rename things that are not interchangeable", () => {
    const first = layout.blank();
    asked.set(first, 1, 1, 1, 1);
    const second = layout.blank();
    asked.set(second, 1, 1, 1, 2);
    expect(canonical(first)).not.toBe(canonical(second));
    expect(symmetry.order).toBe(12);
  });
});
