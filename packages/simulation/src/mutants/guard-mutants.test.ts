import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { guardedPlan } from "../plan/swarm.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { guardMutants } from "./guard-mutants.ts";

/** The harness's budget for each. */
const seeds = 400;

describe("the harness finds every mutant of the restart guard", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.each(guardMutants)(
    "$name",
    async ({ name }) => {
      const trials = inOrder(pool.runner(name), plansOf(guardedPlan, 1, seeds), "any");
      const { violated } = await explore(trials, (_, soFar) => soFar.violated.length > 0);
      // Found within the budget: otherwise the mutant has survived.
      expect(violated).toHaveLength(1);
      const [{ plan, outcome }] = violated as [(typeof violated)[number]];
      console.log(`${name}: seed ${plan.seed}, ${outcome.violations[0]!.kind}`);
    },
    600_000,
  );
});
