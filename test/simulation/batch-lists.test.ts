import { questionOf } from "@quorlock/redlock/internal";
import { Random } from "@quorlock/simulation";
import { describe, expect, it } from "vitest";
import type { Posted } from "../../packages/redlock/src/redis/batch.ts";
// The packages have no names for these: the two have to understand each other.
import { batchArgs, verbs } from "../../packages/redlock/src/redis/commands.ts";
import { questionsIn, repliedIn } from "../../packages/simulation/src/master/batch-list.ts";

function understood(list: string, keys: readonly string[], args: readonly string[]): unknown {
  return questionsIn(list, keys, args).map(({ kind, keys, args }) => [kind, keys, args]);
}

describe("the list of a batch, as the model of a master reads it", () => {
  it("repeats what has a number in front of it, each with its own keys and tokens", () => {
    const keys = ["a", "b", "c", "d", "e", "f"];
    expect(understood("2v1,1000;2l2,0;", keys, ["t1", "t2", "t3", "t4"])).toEqual([
      ["v", ["a"], ["t1"]],
      ["v", ["b"], ["t2"]],
      ["l", ["c", "d"], ["t3"]],
      ["l", ["e", "f"], ["t4"]],
    ]);
  });

  it("takes a number in front for what it is, whatever its length", () => {
    const names = Array.from({ length: 128 }, (_, index) => `r${index}`);
    expect(understood("128l1,0;", names, names)).toEqual(names.map((name) => ["l", [name], [name]]));
    expect(understood("1i1,0;", ["a"], [])).toEqual([["i", ["a"], []]]);
    expect(understood("0v1,5;i1,0;", ["a"], [])).toEqual([["i", ["a"], []]]);
  });

  it("is what the client has put into it, however much of that is alike", () => {
    let runs = 0;
    for (let seed = 0; seed < 300; seed += 1) {
      const random = new Random(seed, "batch lists");
      const all = Array.from({ length: random.integer(1, 12) }, () => drawn(random));
      const [count, ...args] = batchArgs(all).map(String);
      const keys = args.slice(0, Number(count));
      const [list, ...words] = args.slice(Number(count));
      const read = repliedIn(questionsIn(list!, keys, words));
      expect(read.map(({ kind, keys, args }) => [kind, keys, args])).toEqual(
        all.map(({ question: { verb, keys, words } }) => [verbs[verb].letter, keys, words]),
      );
      if (/(^|;)\d+[a-z]/.test(list!)) runs += 1;
    }
    expect(runs).toBeGreaterThan(100);
  });
});

/** One of few kinds, so that many are alike. */
function drawn(random: Random): Posted {
  const verb = random.pick(["vote", "vote", "release", "release", "inspect"] as const);
  const key = () => random.pick(["a", "b", "c"]);
  const words = { vote: ["t1"], release: ["t1"], inspect: [] };
  const keys = verb === "inspect" || random.chance(0.8) ? [key()] : [key(), key()];
  const guard = random.chance(0.9)
    ? undefined
    : { terms: () => "60000,11,0,1,1,0,0", refused: () => {}, extendedInQuarantine: () => {} };
  const ttl = verb === "vote" ? random.pick([1000, 2000]) : 0;
  const question = questionOf({ verb, keys, words: words[verb], ttl });
  const sink = { answered: () => {} };
  const asker = { guard, inbox: "-", isAlone: false, settled: () => {} };
  return { question, place: 0, sink, purpose: verbs[question.verb].purpose, readsTime: false, asker };
}
