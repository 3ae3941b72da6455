import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { lists, turns } from "./turns.ts";

test.each(lists)("each of as many commits as there are of them (%s, ...) takes another", (...names) => {
  const taken = names.map((_, later) => {
    const turn = turns(1234 + later, false);
    expect([...turn.taken, ...turn.waiting].sort()).toEqual(lists.flat().sort());
    return turn.taken.filter((name) => names.includes(name)).join();
  });
  expect(taken.sort()).toEqual([...names].sort());
});

test("all are taken where all are asked for", () => {
  expect(turns(1234, true)).toEqual({ taken: lists.flat(), waiting: [] });
});

test("each of them is a file of tests, or a folder", () => {
  for (const name of lists.slice(1).flat().join().split(","))
    expect(existsSync(`${name}.deep.test.ts`) || existsSync(name), name).toBe(true);
});
