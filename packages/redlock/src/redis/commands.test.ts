import { describe, expect, test } from "vitest";
import type { Guard, Question, Verb } from "../protocol/node.ts";
import { questionOf } from "../protocol/question.ts";
import { batchScript, releaseBatchScript, voteBatchScript } from "../scripts.generated.ts";
import { claimed, type TestClaim } from "../virtual-time.test.ts";
import type { Asker, Posted } from "./batch.ts";
import { batchArgs, batchCommand, claimKeysOf, decode, encode, repliesIn, verbs } from "./commands.ts";
import { turn } from "./turn.ts";
import { batchEnd } from "./window.ts";

// PROTOCOL 12.1, 12.4.

function guardWith(terms: string): Guard {
  return { terms: () => terms, refused: () => {}, extendedInQuarantine: () => {} };
}

const guard = guardWith("first terms");
const inbox = "inbox";

function askerWith(of: Guard | undefined, inbox: string | undefined): Asker {
  return { guard: of, inbox, isAlone: false, settled: () => {} };
}

function posted(question: Question, of?: Guard): Posted {
  const [purpose, sink] = [verbs[question.verb].purpose, { answered: () => {} }];
  return { question, place: 0, sink, purpose, readsTime: false, asker: askerWith(of, inbox) };
}

/** The same for a master without a queue. */
function unqueued(one: Posted): Posted {
  return { ...one, asker: askerWith(undefined, undefined) };
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
  const votes = [vote("r1", "t1", { ttl: 9.5 }), vote("r2", "t2", { ttl: 9.5 })];
  test.each([
    ["votes", votes, voteBatchScript, [2, "r1", "r2", 10, "t1", "t2"]],
    ["releases", [release("r1", "t1"), release("r2", "t2")], releaseBatchScript, [2, "r1", "r2", "t1", "t2"]],
  ])("go out by a special script if they are %s of one key each", (_, all, script, args) => {
    expect(batchCommand(all)).toEqual({ script, args });
  });

  const two = plain("release", ["r1", "r2"], ["t"]);
  test.each([
    ["a vote and a release", vote("r", "t"), release("r", "t")],
    ["votes for different times", vote("r", "t"), vote("s", "u", { ttl: 1 })],
    ["a vote for two keys", vote("r", "t"), vote("s", "t", { resources: ["s", "u"] })],
    ["votes for fencing tokens", vote("r", "t", { proposal: 7 }), vote("s", "u", { proposal: 7 })],
    ["guarded votes", vote("r", "t", { guard }), vote("s", "u", { guard })],
    ["releases of several keys", two, two],
    ["releases that leave no queue", unqueued(release("r", "t")), unqueued(release("s", "u"))],
    ["extensions", vote("r", "t", { verb: "extend" }), vote("s", "u", { verb: "extend" })],
  ])("go out as a batch if they differ in something: %s", (_, one, other) => {
    expect(batchCommand([one, other]).script).toBe(batchScript);
  });
});

describe("the list of a batch", () => {
  test("counts only equal questions in a row", () => {
    const [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map((key) => release(key, "t"));
    const list = listOf(a!, b!, vote("r", "t"), c!, d!, e!);
    expect(list).toBe("2l1,0;v1,1000;3l1,0;");
  });

  test.each([
    ["a ttl", vote("a", "t"), vote("b", "t", { ttl: 1001 }), "v1,1000;v1,1001;"],
    ["a number of keys", vote("a", "t"), vote("b", "t", { resources: ["b", "c"] }), "v1,1000;v2,1000;"],
    ["a proposal", vote("a", "t"), vote("b", "t", { proposal: 7 }), "v1,1000;v1,1000,0,0,7;"],
    ["a verb", release("a", "t"), unqueued(release("b", "t")), "l1,0;r1,0;"],
  ])("two that differ by %s are not alike", (_, one, other, list) => {
    expect(listOf(one, other)).toBe(list);
  });

  test("a question with another guard is not equal: it follows that guard", () => {
    const other = guardWith("other terms");
    const guards = [undefined, guard, guard, other, undefined, undefined];
    const all = guards.map((of, index) => vote(`r${index}`, "t", of && { guard: of }));
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
    const first = turn.encoded(votes);
    expect(turn.encoded(votes.map((one) => ({ ...one, place: 7 })))).toBe(first);
    turn.forget(first);
    const another = turn.encoded(votes);
    expect(another).not.toBe(first);
    expect(another).toEqual(first);
    // A late answer to the first one says nothing of the second.
    turn.forget(first);
    expect(turn.encoded(votes)).toBe(another);
  });

  test("is not that of a master with the inbox that the first one has only since", () => {
    const one = vote("r1", "t1");
    const first = turn.encoded([one]);
    Object.assign(one.asker, { inbox: "-" });
    expect(turn.encoded([{ ...one }])).not.toBe(first);
  });

  test.each([
    ["fewer", [votes[0]!]],
    ["more", [...votes, vote("r3", "t3")]],
    ["others", [votes[0]!, vote("r2", "t2")]],
    ["the same in another order", [votes[1]!, votes[0]!]],
    ["the same with a guard", votes.map((one) => ({ ...one, asker: askerWith(guard, inbox) }))],
    ["the same with another inbox", votes.map((one) => ({ ...one, asker: askerWith(undefined, "-") }))],
    ["the same with a reading of the clock", votes.map((one) => ({ ...one, readsTime: true }))],
  ])("is not that of %s", (_, others) => {
    const first = turn.encoded(votes);
    expect(turn.encoded(others)).not.toBe(first);
    expect(turn.encoded(others).posted).toEqual(others);
  });
});

test("a batch has at most 512 keys, unless one question has more, and is for one kind of locks", () => {
  const time = plain("time", [], []);
  const wide = [300, 212, 1, 600].map((count) => plain("release", Array(count).fill("k"), ["t"]));
  const readers = plain("release", [claimKeysOf("r").shared], ["t"]);
  const all = [...wide, readers, time, vote("r", "t")];
  expect([0, 2, 3, 4, 6].map((start) => batchEnd(all, start))).toEqual([2, 3, 4, 6, 7]);
});

test("a reading of the clock is the last of a command, once for all questions that need it", () => {
  const timed = { ...plain("time", [], []), readsTime: true };
  const judged = { ...vote("r1", "t1"), readsTime: true };
  const message = encode([judged, vote("r2", "t2"), timed, timed]);
  expect(message.args).toEqual([batchScript.sha1, 2, "r1", "r2", "2v1,1000;c0,0;", "t1", "t2"]);
  const clock = ["1700000000", "0"];
  expect(repliesIn(message, [1000, 1000, clock])).toEqual([1000, 1000, clock]);
  expect(repliesIn(message, [1000, 1000])).toEqual([]);
  expect(encode([judged]).args).toEqual([batchScript.sha1, 1, "r1", "v1,1000;c0,0;", "t1"]);
  expect(encode([timed]).args).toEqual([batchScript.sha1, 0, "c0,0;"]);
});

test.each([["OK"], [null], [1], [3], ["2"], [[1000]], [{}]])("%j is no reply to two votes", (reply) => {
  const votes = encode([vote("r1", "t1"), vote("r2", "t2")]);
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
    ["restoreCounters", 1, done],
    ["restoreCounters", 0, missed],
    ["restoreCounters", 2, undefined],
    ["mark", 1, done],
    ["mark", 0, missed],
    ["mark", -1, undefined],
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
    expect(decode(questionOf({ verb, keys: ["a", "b"], words: ["t"], ttl: 1000 }), reply)).toEqual(expected);
  });
});
