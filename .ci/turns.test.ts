import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { groups, repeats, turns } from "./turns.ts";

test.each([[groups], [repeats]])("each of as many commits as there are of %s takes another", (names) => {
  const taken = names.map((_, later) => {
    const turn = turns<string>(names, 1234 + later, false);
    expect(turn.taken).toHaveLength(1);
    expect([...turn.taken, ...turn.waiting].sort()).toEqual([...names].sort());
    return turn.taken[0]!;
  });
  expect(taken.sort()).toEqual([...names].sort());
});

test("all are taken where all are asked for", () => {
  expect(turns<string>(groups, 1234, true)).toEqual({ taken: [...groups], waiting: [] });
});

test("each repeat is a file of tests", () => {
  for (const name of repeats) expect(existsSync(`test/${name}.deep.test.ts`), name).toBe(true);
});
