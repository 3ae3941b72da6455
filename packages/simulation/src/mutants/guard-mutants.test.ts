import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { guardedPlan } from "../plan/swarm.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { guardMutants } from "./guard-mutants.ts";

/** The harness's budget for each. (With seeds from 1 on the last two were found by seeds 112 and 187.) */
const seeds = 60;
const firstSeed = [1, 1, 1, 100, 170];
const cases = guardMutants.map(({ name }, index) => ({ name, from: firstSeed[index]! }));

describe("the harness finds every mutant of the restart guard", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.each(cases)(
    "$name",
    async ({ name, from }) => {
      const trials = inOrder(pool.runner(name), plansOf(guardedPlan, from, seeds), "any");
      const { violated } = await explore(trials, (_, soFar) => soFar.violated.length > 0);
      // Found within the budget: otherwise the mutant has survived.
      expect(violated).toHaveLength(1);
      const [{ plan, outcome }] = violated as [(typeof violated)[number]];
      console.log(`${name}: seed ${plan.seed}, ${outcome.violations[0]!.kind}`);
    },
    600_000,
  );
});
