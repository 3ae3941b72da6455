import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NodeError } from "../errors.ts";
import type { Answer } from "./node.ts";
import { contentionIn, isRefused, quorumOf, toleratedFailures, verdictOf } from "./quorum.ts";

// PROTOCOL 2.3.

const yes: Answer = { is: "yes", remaining: 1000 };
const fault: Answer = { is: "fault", error: new NodeError("m", "UNREACHABLE", "down"), sent: false };
const unheard = undefined;
const by = (owner: string, remaining = 700): Answer => ({ is: "no", resource: "r", owner, remaining });

const answer: fc.Arbitrary<Answer> = fc.oneof(
  fc.constant(yes),
  fc.constant(fault),
  fc.tuple(fc.constantFrom("a", "b", "c"), fc.nat(1000)).map(([owner, remaining]) => by(owner, remaining)),
);
/** All answers of a round, and the order of their arrival. */
const round = fc
  .array(answer, { minLength: 1, maxLength: 7 })
  .chain((answers) =>
    fc.tuple(fc.constant(answers), fc.shuffledSubarray([...answers.keys()], { minLength: answers.length })),
  );

function* asTheyCome(answers: readonly Answer[], order: readonly number[]) {
  const tally: Array<Answer | undefined> = answers.map(() => unheard);
  yield [...tally];
  for (const index of order) {
    tally[index] = answers[index];
    yield [...tally];
  }
}

describe("the verdict", () => {
  test("counts refusals and faults as against, and missing answers not at all", () => {
    expect(verdictOf([yes, yes, unheard])).toBe("won");
    expect(verdictOf([yes, by("a"), unheard])).toBe("open");
    expect(verdictOf([fault, by("a"), unheard])).toBe("failed");
    expect(verdictOf([yes, fault])).toBe("failed");
  });

  test("is refused only if refusals alone rule out a quorum", () => {
    expect(isRefused([by("a"), fault, unheard])).toBe(false);
    expect(isRefused([by("a"), by("b"), unheard])).toBe(true);
    expect(isRefused([yes, by("a")])).toBe(true);
    expect(isRefused([yes, yes, by("a"), by("b")])).toBe(true);
  });
});

describe("contention", () => {
  test("is open while the missing answers could distinguish a split from a lock", () => {
    expect(contentionIn([by("a"), by("b"), unheard])).toMatchObject({ kind: "locked", open: true });
    expect(contentionIn([by("a"), by("a"), unheard])).toMatchObject({ kind: "locked", open: false });
    expect(contentionIn([by("a"), by("b"), by("c"), unheard, unheard])).toMatchObject({ open: true });
    expect(contentionIn([by("a"), by("b"), by("c"), by("a"), unheard])).toMatchObject({
      kind: "locked",
      open: true,
    });
  });

  test("once it is not open, no later answer changes its kind, unless masters turn out to be unavailable", () => {
    fc.assert(
      fc.property(round, ([answers, order]) => {
        let settled: string | undefined;
        for (const tally of asTheyCome(answers, order)) {
          const { kind, open, resource } = contentionIn(tally);
          if (resource === undefined) continue;
          if (settled && kind !== "unavailable") expect(kind).toBe(settled);
          if (!open && kind !== "unavailable") settled = kind;
        }
      }),
      { numRuns: 500 },
    );
  });

  test("with all answers, it is never open, and split only if no client can hold a quorum", () => {
    fc.assert(
      fc.property(round, ([answers]) => {
        const { kind, open } = contentionIn(answers);
        expect(open).toBe(false);
        const faults = answers.filter((one) => one.is === "fault").length;
        const votes = ["a", "b", "c"].map(
          (owner) => answers.filter((one) => one.is === "no" && one.owner === owner).length,
        );
        const refusals = votes.reduce((sum, count) => sum + count);
        if (refusals === 0 || faults > toleratedFailures(answers.length)) expect(kind).toBe("unavailable");
        else expect(kind).toBe(Math.max(...votes) + faults >= quorumOf(answers.length) ? "locked" : "split");
      }),
      { numRuns: 500 },
    );
  });
});

describe("when a quorum is free", () => {
  test("masters without an answer count as the longest of the others", () => {
    expect(contentionIn([by("a", 500), by("a", 900), unheard]).freeIn).toBe(900);
  });

  test("is the first moment at which the keys are free on a quorum of the masters that answered", () => {
    fc.assert(
      fc.property(round, ([answers]) => {
        const { freeIn, kind } = contentionIn(answers);
        if (kind === "unavailable") return;
        const freeAt = (moment: number) =>
          answers.filter((one) => one.is === "yes" || (one.is === "no" && one.remaining <= moment)).length;
        expect(freeAt(freeIn)).toBeGreaterThanOrEqual(quorumOf(answers.length));
        expect(freeIn === 0 || freeAt(freeIn - 1) < quorumOf(answers.length)).toBe(true);
      }),
    );
  });
});
