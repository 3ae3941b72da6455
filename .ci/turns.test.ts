import { expect, test } from "vitest";
import { groups, turns } from "./turns.ts";

test("each of as many commits as there are groups takes another one, and the others wait", () => {
  const taken = groups.map((_, later) => {
    const turn = turns(1234 + later, false);
    expect(turn.taken).toHaveLength(1);
    expect([...turn.taken, ...turn.waiting].sort()).toEqual([...groups].sort());
    return turn.taken[0]!;
  });
  expect(taken.sort()).toEqual([...groups].sort());
});

test("all are taken where all are asked for", () => {
  expect(turns(1234, true)).toEqual({ taken: [...groups], waiting: [] });
});
