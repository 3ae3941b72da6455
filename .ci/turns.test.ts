import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { turnsOfGroups, turnsOfRepeats } from "./turns.ts";

describe.each([
  { name: "groups of steps", turns: turnsOfGroups },
  { name: "repeats of cases", turns: turnsOfRepeats },
])("$name", ({ turns }) => {
  const { taken: all, waiting } = turns(1234, true);

  test("each of as many commits as there are names takes another one, and the others wait", () => {
    const taken = all.map((_, later) => {
      const turn = turns(1234 + later, false);
      expect(turn.taken).toHaveLength(1);
      expect([...turn.taken, ...turn.waiting].sort()).toEqual([...all].sort());
      return turn.taken[0]!;
    });
    expect(taken.sort()).toEqual([...all].sort());
  });

  test("none waits where all are asked for", () => {
    expect(waiting).toEqual([]);
  });
});

test("each repeat is a file of cases", () => {
  for (const name of turnsOfRepeats(0, true).taken)
    expect(existsSync(`test/behaviours/${name}.deep.test.ts`), name).toBe(true);
});
