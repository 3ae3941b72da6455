import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { mutants } from "./mutants.ts";
import { edited } from "./mutated-client.ts";

/** The harness's budget for each. */
const seeds = 400;

describe("the harness finds every mutant", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.each(mutants)(
    "$name",
    async ({ name }) => {
      const trials = inOrder(pool.runner(name), plansOf(promisedPlan, 1, seeds), "any");
      const { violated } = await explore(trials, (_, soFar) => soFar.violated.length > 0);
      // Found within the budget: otherwise the mutant has survived.
      expect(violated).toHaveLength(1);
      const [{ plan, outcome }] = violated as [(typeof violated)[number]];
      console.log(`${name}: seed ${plan.seed}, ${outcome.violations[0]!.kind}`);
    },
    300_000,
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
