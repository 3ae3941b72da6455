import { afterAll, describe, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { outlierPlan, watchedPlan } from "../plan/swarm.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { plansOf } from "../search/explore.ts";
import { findOut } from "./find-out.ts";
import { outlierMutants, watchMutants } from "./watch-mutants.ts";

/** The harness's budget for each. */
const seeds = 100;
/** Somewhat before the first seeds that show them: 9, 8, 13, 28, 8, 35 and 35. */
const firsts = [8, 8, 12, 26, 8, 34, 34];
const cases = watchMutants.map(({ name }, index) => ({ name, first: firsts[index]! }));

describe("the harness finds every mutant of the clock watch", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.concurrent.each(cases)(
    "$name",
    async ({ name, first }) => {
      console.log(await findOut(pool, name, plansOf(watchedPlan, first, seeds)));
    },
    1_200_000,
  );

  const newcomers = scenarios.find(({ name }) => name === "clock-jump-on-c-excluded")!;
  const grounds = [newcomers.plan, outlierPlan];

  test.concurrent.each(outlierMutants.map(({ name }, index) => ({ name, planOf: grounds[index]! })))(
    "$name",
    async ({ name, planOf }) => {
      console.log(await findOut(pool, name, plansOf(planOf, 1, seeds)));
    },
    1_200_000,
  );
});
