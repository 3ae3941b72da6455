import { afterAll, describe, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { outlierPlan, watchedPlan } from "../plan/swarm.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { plansOf } from "../search/explore.ts";
import { findOut } from "./find-out.ts";
import { outlierMutants, watchMutants } from "./watch-mutants.ts";

/** The harness's budget for each. */
const seeds = 100;

describe("the harness finds every mutant of the clock watch", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.concurrent.each(watchMutants)(
    "$name",
    async ({ name, from = 1 }) => {
      console.log(await findOut(pool, name, plansOf(watchedPlan, from, seeds)));
    },
    1_200_000,
  );

  const newcomers = scenarios.find(({ name }) => name === "clock-jump-on-c-excluded")!;
  const grounds = [newcomers.plan, outlierPlan];

  test.concurrent.each(outlierMutants.map((mutant, index) => ({ ...mutant, planOf: grounds[index]! })))(
    "$name",
    async ({ name, from = 1, planOf }) => {
      console.log(await findOut(pool, name, plansOf(planOf, from, seeds)));
    },
    1_200_000,
  );
});
