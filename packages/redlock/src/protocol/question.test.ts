import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { Question } from "./node.ts";
import { questionOf } from "./question.ts";

test("All questions have one shape for the engine, whatever a master makes of them", () => {
  setFlagsFromString("--allow-natives-syntax");
  const haveOneShape = runInNewContext("(one, other) => %HaveSameMap(one, other)") as (
    one: Question,
    other: Question,
  ) => boolean;
  const claim = { abandoned: false };
  const vote = questionOf({ verb: "vote", keys: ["r"], words: ["t"], ttl: 1.5, claim });
  const others = [
    questionOf({ words: ["t"], keys: ["r"], verb: "release" }),
    questionOf({ ...vote, verb: "extend", claim: undefined }),
    questionOf({ ...vote, verb: "enqueue", proposal: 7, entry: { ticket: 1, ttl: 2 } }),
  ];
  expect(others.map((other) => haveOneShape(vote, other))).toEqual([true, true, true]);
  const { ttl, ...rest } = vote;
  expect(haveOneShape(vote, { ...rest, ttl })).toBe(false);
});
