import { afterAll, describe, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { plansOf } from "../search/explore.ts";
import { findOut } from "./find-out.ts";
import { mutants } from "./mutants.ts";

/** The harness's budget for each. */
const seeds = 400;
/** The seven before it are the longest runs by far. From 1, 8 and 27 on each mutant is found, and mostly at once. */
const first = 8;

/** An error that a dropped run of another mutant throws later would end its first run. */
const alone = "one deadline for two ttls";

test(`the harness finds the mutant "${alone}"`, async () => {
  await using pool = new Pool();
  console.log(await findOut(pool, alone, plansOf(promisedPlan, first, seeds)));
}, 1_200_000);

describe("the harness finds every mutant", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.concurrent.each(mutants.filter(({ name }) => name !== alone))(
    "$name",
    async ({ name }) => {
      console.log(await findOut(pool, name, plansOf(promisedPlan, first, seeds)));
    },
    1_200_000,
  );
});
