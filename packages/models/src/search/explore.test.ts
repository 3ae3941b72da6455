import { describe, expect, it } from "vitest";
import { explore } from "./explore.ts";
import { Layout } from "./layout.ts";
import type { Model } from "./model.ts";

/** Walkers on a line from 0 to `end`, each a step at a time. */
function walkers(count: number, end: number, changes: Partial<Model> = {}): Model {
  const layout = new Layout();
  const all = layout.sort(count, { interchangeable: true });
  const place = layout.field([all]);
  return {
    layout,
    initial: [layout.blank()],
    steps(now, step) {
      for (const walker of all.all) {
        const here = place.get(now, walker);
        if (here === end) continue;
        step(
          () => `walker ${walker} goes to ${here + 1}`,
          (next) => place.set(next, here + 1, walker),
        );
      }
    },
    violation: () => undefined,
    sights: {},
    ...changes,
  };
}

const limit = 10_000;

function meeting(now: Uint8Array): string | undefined {
  return now[0] === 2 && now[1] === 2 ? "they met" : undefined;
}

describe("explore", () => {
  it("finds every state once, at its depth", () => {
    const all = explore(walkers(3, 4), { limit, symmetry: false });
    expect(all).toMatchObject({ verdict: "holds", states: 5 ** 3, depth: 12, symmetry: 1 });
  });

  it("counts states that differ only in names as one", () => {
    // Three walkers on five places, in any order: 7 over 3.
    expect(explore(walkers(3, 4), { limit })).toMatchObject({
      verdict: "holds",
      states: 35,
      depth: 12,
      symmetry: 6,
    });
  });

  it("describes the shortest way to a forbidden state, with the same names all along", () => {
    const result = explore(walkers(2, 9, { violation: meeting }), { limit });
    expect(result).toMatchObject({ verdict: "violated", reason: "they met" });
    expect(result.story).toHaveLength(4);
    expect(result.story.filter((line) => line.startsWith("walker 1"))).toEqual([
      "walker 1 goes to 1",
      "walker 1 goes to 2",
    ]);
  });

  it("finds a violation in an initial state", () => {
    expect(explore(walkers(1, 1, { violation: () => "never" }), { limit })).toMatchObject({
      verdict: "violated",
      story: [],
    });
  });

  it("never holds if there are more states than its limit", () => {
    expect(explore(walkers(3, 4), { limit: 34 })).toMatchObject({
      verdict: "unfinished",
      reason: "more than 34 states",
    });
    expect(explore(walkers(3, 4), { limit: 35 }).verdict).toBe("holds");
  });

  it("never holds if it missed a state that it should reach", () => {
    const sights = { "at 2": (now: Uint8Array) => now[0] === 2, "at 5": (now: Uint8Array) => now[0] === 5 };
    expect(explore(walkers(1, 4, { sights }), { limit })).toMatchObject({
      verdict: "blind",
      reason: "never seen: at 5",
    });
  });

  it("finds the nearest state from which the goal is out of reach", () => {
    const goal = { name: "both are at 3", reached: (now: Uint8Array) => now.every((place) => place === 3) };
    expect(explore(walkers(2, 3, { goal }), { limit }).verdict).toBe("holds");
    const result = explore(walkers(2, 4, { goal }), { limit });
    expect(result).toMatchObject({ verdict: "stuck", reason: "from here never again: both are at 3" });
    expect(result.story).toHaveLength(4);
  });

  it("does not rely on faults to reach the goal", () => {
    const model = walkers(1, 1);
    const goal = { name: "there", reached: (now: Uint8Array) => now[0] === 1 };
    const byFault: Model = {
      ...model,
      goal,
      steps: (now, step) => model.steps(now, (story, change) => step(story, change, "fault")),
    };
    expect(explore(byFault, { limit }).verdict).toBe("stuck");
  });

  it("keeps more states than fit one chunk or one table", () => {
    const result = explore(walkers(3, 59), { limit: 300_000, symmetry: false });
    expect(result).toMatchObject({ verdict: "holds", states: 60 ** 3, depth: 177 });
  });

  it("refuses a number that does not fit its cell", () => {
    expect(() => explore(walkers(1, 300), { limit })).toThrow("256 does not fit a cell");
  });
});
