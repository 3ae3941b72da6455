import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decide, quorumOf, toleratedFailures } from "./quorum.ts";

// PROTOCOL 2.3.

const members = fc.integer({ min: 1, max: 60 });

/** Answers in the order of arrival: a yes or not. */
const ballots = fc.array(fc.boolean(), { minLength: 1, maxLength: 25 });

function tallies(answers: readonly boolean[]): Array<{ yes: number; against: number }> {
  let yes = 0;
  let against = 0;
  const seen = [{ yes, against }];
  for (const answer of answers) {
    if (answer) yes += 1;
    else against += 1;
    seen.push({ yes, against });
  }
  return seen;
}

describe("a quorum", () => {
  test.each([
    [1, 1, 0],
    [2, 2, 0],
    [3, 2, 1],
    [4, 3, 1],
    [5, 3, 2],
    [6, 4, 2],
    [7, 4, 3],
  ])("of %i masters is %i, so %i may be missing", (count, quorum, spare) => {
    expect([quorumOf(count), toleratedFailures(count)]).toEqual([quorum, spare]);
  });

  test("is the smallest number of which any two sets share a master", () => {
    fc.assert(
      fc.property(members, (count) => {
        const quorum = quorumOf(count);
        expect(2 * quorum).toBeGreaterThan(count);
        expect(2 * (quorum - 1)).toBeLessThanOrEqual(count);
      }),
    );
  });
});

describe("the decision", () => {
  test("is made once all have answered, and never both ways", () => {
    fc.assert(
      fc.property(ballots, (answers) => {
        const count = answers.length;
        const yes = answers.filter(Boolean).length;
        const verdict = decide(count, yes, count - yes);
        expect(verdict).toBe(yes >= quorumOf(count) ? "won" : "failed");
      }),
    );
  });

  test("never changes with later answers", () => {
    fc.assert(
      fc.property(ballots, (answers) => {
        const verdicts = tallies(answers).map(({ yes, against }) => decide(answers.length, yes, against));
        const decided = verdicts.filter((verdict) => verdict !== "open");
        expect(new Set(decided).size).toBe(1);
        expect(verdicts.slice(0, -decided.length).every((verdict) => verdict === "open")).toBe(true);
      }),
    );
  });

  test("is open while the missing answers could still change it", () => {
    fc.assert(
      fc.property(ballots, (answers) => {
        const count = answers.length;
        for (const { yes, against } of tallies(answers)) {
          if (decide(count, yes, against) !== "open") continue;
          const missing = count - yes - against;
          expect(decide(count, yes + missing, against)).toBe("won");
          expect(decide(count, yes, against + missing)).toBe("failed");
        }
      }),
    );
  });
});
