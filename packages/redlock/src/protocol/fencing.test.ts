import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isStored, Proposals, tokenOf } from "./fencing.ts";
import type { Answer } from "./node.ts";
import { quorumOf } from "./quorum.ts";

// PROTOCOL 8.2, 8.3, 8.4.

function yes(counter?: number): Answer {
  return { is: "yes", remaining: 1000, ...(counter === undefined ? {} : { counter }) };
}

describe("the token", () => {
  test.each([
    ["all counters are smaller", [1, 2, 99], 2, 100],
    ["a quorum of counters is smaller, one is larger", [1, 2, 500], 2, 100],
    ["one master alone returns a far larger counter", [1, 9e15, 99], 2, 100],
    ["one is equal: it may be another lease's token", [1, 100], 2, 101],
    ["of five, two of them ahead", [1, undefined, 100, 102, 3], 3, 101],
  ] as const)("%s: %j", (_, counters, quorum, token) => {
    expect(tokenOf(100, counters, quorum)).toBe(token);
  });

  test("is larger than the counters of a quorum, and never less than the proposal", () => {
    const counters = fc.array(fc.option(fc.nat(20), { nil: undefined }), { minLength: 1, maxLength: 7 });
    fc.assert(
      fc.property(fc.nat(20), counters, (proposal, counters) => {
        const quorum = quorumOf(counters.length);
        const token = tokenOf(proposal, counters, quorum);
        const known = counters.filter((counter) => counter !== undefined);
        if (token === undefined) expect(known.length).toBeLessThan(quorum);
        else {
          expect(known.filter((counter) => counter < token).length).toBeGreaterThanOrEqual(quorum);
          expect(token).toBeGreaterThanOrEqual(proposal);
        }
      }),
    );
  });
});

test.each([
  ["counts if the token was computed from the master's counter", 7, yes(99), true],
  ["does not count if the token was not computed from the master's larger counter", 100, yes(500), false],
  ["counts on another master with a smaller counter", undefined, yes(99), true],
  ["does not count on another master with an equal counter", undefined, yes(100), false],
  ["does not count without a counter", 7, yes(), false],
])("an acknowledgement of the second round %s", (_, counter, answer, counts) => {
  expect(isStored(100, counter, answer)).toBe(counts);
});

describe("a proposal", () => {
  test("is the time in microseconds, or one more than the largest token seen or proposed", () => {
    const proposals = new Proposals();
    expect(proposals.at(1000)).toBe(1_000_000);
    expect(proposals.at(1000)).toBe(1_000_001);
    expect(proposals.at(1000.25)).toBe(1_000_250);
    expect(proposals.at(3)).toBe(1_000_251);
    proposals.saw(5_000_000);
    proposals.saw(7);
    expect(proposals.at(1000)).toBe(5_000_001);
  });
});

/** The steps of one attempt, in order; its steps at one master are not interleaved with those of other attempts. */
const attempts = fc.array(
  fc.record({
    proposal: fc.nat(6),
    votesAt: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    /** The masters whose answers are read before the decision. */
    readFrom: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
    storesAt: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  }),
  { maxLength: 8 },
);

test("tokens grow from lease to lease, for all proposals and lost messages", () => {
  let inTwoRounds = 0;
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), attempts, (members, attempts) => {
      const counters: number[] = Array.from({ length: members }, () => 0);
      const raise = (index: number, to: number): number => {
        const before = counters[index]!;
        counters[index] = Math.max(before, to);
        return before;
      };
      const quorum = quorumOf(members);
      let last = 0;
      for (const { proposal, votesAt, readFrom, storesAt } of attempts) {
        const told = counters.map((_, index) => (votesAt[index] ? raise(index, proposal) : undefined));
        const read = told.map((counter, index) => (readFrom[index] ? counter : undefined));
        const token = tokenOf(proposal, read, quorum);
        if (token === undefined) continue;
        if (token !== proposal) {
          const stored = told.filter(
            (vote, index) =>
              vote !== undefined && storesAt[index] && isStored(token, read[index], yes(raise(index, token))),
          );
          if (stored.length < quorum) continue;
          inTwoRounds += 1;
        }
        expect(token).toBeGreaterThan(last);
        last = token;
      }
    }),
    { numRuns: 3000 },
  );
  expect(inTwoRounds).toBeGreaterThan(100);
});
