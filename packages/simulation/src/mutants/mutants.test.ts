import { describe, expect, test } from "vitest";
import { explore } from "../cli/explore.ts";
import type { Outcome } from "../run/simulate.ts";
import { mutants } from "./mutants.ts";
import { edited, mutatedClient } from "./mutated-client.ts";

/** The harness's budget for each. */
const seeds = 400;

function survives(_: number, { verdict }: Outcome): boolean {
  return verdict !== "violated";
}

describe("the harness finds every mutant", () => {
  test.each(mutants)(
    "$name",
    async (mutant) => {
      const subject = await mutatedClient(mutant);
      const { violated } = await explore({ from: 1, seeds, engine: "heap", subject, onOutcome: survives });
      // Found within the budget: otherwise the mutant has survived.
      expect(violated.map(({ outcome }) => outcome.violations[0]?.kind)).toHaveLength(1);
      console.log(`${mutant.name}: seed ${violated[0]!.seed}, ${violated[0]!.outcome.violations[0]!.kind}`);
    },
    120_000,
  );
});

describe("a mutant", () => {
  const edit = { file: "f.ts", line: "a", instead: "b" };

  test("replaces its line", () => {
    expect(edited("x a y", edit)).toBe("x b y");
  });

  test.each(["x", "a a"])("whose line is not there exactly once is an error: %j", (text) => {
    expect(() => edited(text, edit)).toThrow("exactly once");
  });
});
