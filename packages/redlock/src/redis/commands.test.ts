import { describe, expect, test } from "vitest";
import type { Guard, Question, Verb } from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import { batchScript, releaseBatchScript, voteBatchScript } from "../scripts.generated.ts";
import { claimed, type TestClaim } from "../virtual-time.test.ts";
import {
  answerIn,
  batchArgs,
  batchCommand,
  encoded,
  forgetEncoded,
  type Posted,
  purposeOf,
  repliesIn,
} from "./commands.ts";

// PROTOCOL 12.1, 12.4.

function guardWith(terms: string): Guard {
  return { terms: () => terms, refused: () => {}, extendedInQuarantine: () => {} };
}

const guard = guardWith("first terms");

function posted(question: Question, of?: Guard): Posted {
  const purpose = purposeOf(question);
  const sink = { answered: () => {} };
  return { question, place: 0, sink, purpose, isUnbatched: false, guard: of, onSend: undefined };
}

function plain(verb: Verb, keys: readonly string[], words: readonly string[]): Posted {
  return posted(questionOf({ verb, keys, words }));
}

function vote(
  key: string,
  token: string,
  { guard: of, ...options }: Partial<TestClaim> & { verb?: Verb; guard?: Guard } = {},
): Posted {
  const claim = { resources: [key], token, ttl: 1000, abandoned: false, ...options };
  return posted(claimed(options.verb ?? "vote", claim), of);
}

function release(key: string, token: string): Posted {
  return plain("release", [key], [token]);
}

/** The list, and the arguments before and after it. */
function listOf(...all: readonly Posted[]): unknown {
  const [count, ...args] = batchArgs(all);
  return args[Number(count)];
}

describe("questions that are alike", () => {
  test("go out by a special script if they vote for one key each: the ttl, rounded up, and the tokens", () => {
    const votes = [vote("r1", "t1", { ttl: 9.5 }), vote("r2", "t2", { ttl: 9.5 })];
    expect(batchCommand(votes)).toEqual({ script: voteBatchScript, args: [2, "r1", "r2", 10, "t1", "t2"] });
  });

  test("go out by a special script if they release one key each: the tokens", () => {
    const args = [2, "r1", "r2", "t1", "t2"];
    expect(batchCommand([release("r1", "t1"), release("r2", "t2")])).toEqual({
      script: releaseBatchScript,
      args,
    });
  });

  const two = plain("release", ["r1", "r2"], ["t"]);
  test.each([
    ["a vote and a release", vote("r", "t"), release("r", "t")],
    ["votes for different times", vote("r", "t"), vote("s", "u", { ttl: 1 })],
    ["a vote for two keys", vote("r", "t"), vote("s", "t", { resources: ["s", "u"] })],
    ["votes for fencing tokens", vote("r", "t", { proposal: 7 }), vote("s", "u", { proposal: 7 })],
    ["guarded votes", vote("r", "t", { guard }), vote("s", "u", { guard })],
    ["releases of several keys", two, two],
    ["releases that leave no queue", plain("delete", ["r"], ["t"]), plain("delete", ["s"], ["u"])],
    ["extensions", vote("r", "t", { verb: "extend" }), vote("s", "u", { verb: "extend" })],
  ])("go out as a batch if they differ in something: %s", (_, one, other) => {
    expect(batchCommand([one, other]).script).toBe(batchScript);
  });
});

describe("the list of a batch", () => {
  test("counts only equal questions in a row", () => {
    const list = listOf(
      release("a", "t"),
      release("b", "t"),
      vote("c", "t"),
      release("d", "t"),
      release("e", "t"),
      release("f", "t"),
    );
    expect(list).toBe("2l1,0;v1,1000;3l1,0;");
  });

  test.each([
    ["a ttl", vote("a", "t"), vote("b", "t", { ttl: 1001 }), "v1,1000;v1,1001;"],
    ["a number of keys", vote("a", "t"), vote("b", "t", { resources: ["b", "c"] }), "v1,1000;v2,1000;"],
    ["a proposal", vote("a", "t"), vote("b", "t", { proposal: 7 }), "v1,1000;v1,1000,0,0,7;"],
    ["a verb", release("a", "t"), plain("delete", ["b"], ["t"]), "l1,0;r1,0;"],
  ])("two that differ by %s are not alike", (_, one, other, list) => {
    expect(listOf(one, other)).toBe(list);
  });

  test("a question with another guard is not equal: it follows that guard", () => {
    const other = guardWith("other terms");
    const all = [
      vote("a", "t"),
      vote("b", "t", { guard }),
      vote("c", "t", { guard }),
      vote("d", "t", { guard: other }),
      vote("e", "t"),
      vote("f", "t"),
    ];
    expect(listOf(...all)).toBe("v1,1000;g0,0;2v1,1000;g0,0;v1,1000;g0,0;2v1,1000;");
    const values = batchArgs(all).slice(-9);
    expect(values).toEqual(["t", "first terms", "t", "t", "other terms", "t", "0", "t", "t"]);
  });

  test("gives a reading of the guard state terms of its own, which apply to nothing behind it", () => {
    const of: Guard = { ...guard, terms: ({ verb, words }) => (verb === "guardState" ? words[0]! : "usual") };
    const read = posted(questionOf({ verb: "guardState", keys: [], words: ["distrust"] }), of);
    const all = [vote("a", "t", { guard: of }), read, vote("b", "u", { guard: of }), vote("c", "v")];
    expect(listOf(...all)).toBe("g0,0;v1,1000;g0,0;h0,0;g0,0;v1,1000;g0,0;v1,1000;");
    expect(batchArgs(all).slice(-7)).toEqual(["usual", "t", "distrust", "usual", "u", "0", "v"]);
  });
});

describe("the command of a batch", () => {
  const votes = [vote("r1", "t1"), vote("r2", "t2")];

  test("is made once for all masters that are asked the same, until the first of them has answered", () => {
    const first = encoded(votes);
    expect(encoded(votes.map((one) => ({ ...one, place: 7 })))).toBe(first);
    forgetEncoded(first);
    const another = encoded(votes);
    expect(another).not.toBe(first);
    expect(another).toEqual(first);
    // A late answer to the first one says nothing of the second.
    forgetEncoded(first);
    expect(encoded(votes)).toBe(another);
  });

  test.each([
    ["fewer", [votes[0]!]],
    ["more", [...votes, vote("r3", "t3")]],
    ["others", [votes[0]!, vote("r2", "t2")]],
    ["the same in another order", [votes[1]!, votes[0]!]],
    ["the same with a guard", votes.map((one) => ({ ...one, guard }))],
  ])("is not that of %s", (_, others) => {
    const first = encoded(votes);
    expect(encoded(others)).not.toBe(first);
    expect(encoded(others).posted).toEqual(others);
  });
});

test.each([["OK"], [null], [1], [3], ["2"], [[1000]], [{}]])("%j is no reply to two votes", (reply) => {
  const votes = encoded([vote("r1", "t1"), vote("r2", "t2")]);
  expect(repliesIn(votes, reply)).toEqual([]);
  expect(repliesIn(votes, 2)).toEqual([1000, 1000]);
});

describe("the answer in a reply", () => {
  const [done, missed] = [{ is: "done" }, { is: "missed" }];

  test.each<readonly [Verb, unknown, unknown]>([
    ["release", 2, done],
    ["release", 1, missed],
    ["release", 0, missed],
    ["release", 3, undefined],
    ["release", "2", undefined],
    ["delete", 2, done],
    ["delete", 1, missed],
    ["restoreCounters", 1, done],
    ["restoreCounters", 0, missed],
    ["restoreCounters", 2, undefined],
    ["mark", 1, done],
    ["mark", 0, missed],
    ["mark", -1, undefined],
    ["time", ["1700000000", "500000"], { is: "time", time: 1_700_000_000_500 }],
    ["time", 1, undefined],
    ["inspect", 1, undefined],
    ["guardState", 1, undefined],
    ["vote", 1000, { is: "yes", remaining: 1000 }],
    ["vote", -1, { is: "yes", remaining: Number.POSITIVE_INFINITY }],
    ["vote", 999, undefined],
    ["extend", [-2, 1000], { is: "yes", remaining: 1000, inQuarantine: true }],
    ["enqueue", [-3, 1000, "7"], { is: "yes", remaining: 1000, nextTicket: 7 }],
    ["enqueue", [-3, 1000], { is: "yes", remaining: 1000 }],
    ["enqueue", [-3, 1000, "x"], undefined],
    ["vote", [-1, 1000, "5"], { is: "yes", remaining: 1000, counter: 5 }],
    ["vote", [-1, 1000, "x"], undefined],
  ])("to %s is, for %j, %j", (verb, reply, expected) => {
    expect(answerIn(questionOf({ verb, keys: ["a", "b"], words: ["t"], ttl: 1000 }), reply)).toEqual(
      expected,
    );
  });
});
