import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { sharedServerPlan } from "../plan/swarm.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { findOut } from "./find-out.ts";
import { sharedServerMutants } from "./shared-server-mutants.ts";

/** The harness's budget for each. */
const seeds = 30;

describe("two masters that are one server", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test("are one vote, which is no quorum", async () => {
    const { violated, runs } = await explore(inOrder(pool.runner(), plansOf(sharedServerPlan, 1, seeds)));
    expect(violated.map(({ plan: { seed }, outcome }) => [seed, outcome.violations])).toEqual([]);
    expect(runs).toBe(seeds);
  }, 1_200_000);

  test.each(sharedServerMutants)(
    "$name",
    async ({ name }) => {
      console.log(await findOut(pool, name, plansOf(sharedServerPlan, 1, seeds)));
    },
    1_200_000,
  );
});
