import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { plansOf } from "../search/explore.ts";
import { throwingMutant } from "./caller-mutants.ts";
import { findOut } from "./find-out.ts";
import { mutants } from "./mutants.ts";

/** The harness's budget for each. */
const seeds = 400;
/** The seven before it are the longest runs by far. */
const first = 8;

describe("the harness finds every mutant", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test.concurrent.each(mutants)(
    "$name",
    async ({ name, from = first }) => {
      console.log(await findOut(pool, name, plansOf(promisedPlan, from, seeds)));
    },
    1_200_000,
  );
});

test("an error that nothing catches is found in its own run, and does not reach the next one in the thread", async () => {
  await using pool = new Pool(1);
  const plan = promisedPlan(104);
  const [thrown, next] = await Promise.all([
    pool.runner(throwingMutant.name).run(plan, "any"),
    pool.runner().run(plan),
  ]);
  const [first] = thrown.violations;
  expect([first?.kind, first?.detail]).toEqual([
    "error",
    "nothing catches Error: no backoff after attempt 1",
  ]);
  expect(next.verdict).toBe("ok");
}, 60_000);
