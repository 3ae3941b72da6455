import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { plansOf } from "../search/explore.ts";
import { perNodeLimit } from "../semaphore/per-node-limit.ts";
import { roundsPlan } from "../semaphore/rounds-plan.ts";
import { throwingMutant } from "./caller-mutants.ts";
import { hunts } from "./every-mutant.ts";
import { findOut } from "./find-out.ts";

const pool = new Pool();
afterAll(() => pool.close());

const wanted = [
  ...hunts.flatMap(({ mutants, planOf, from: first = 1, seeds, shownBy }) =>
    mutants.map(({ name, from = first }) => ({ name, plans: plansOf(planOf, from, seeds), shownBy })),
  ),
  { name: perNodeLimit.name, plans: plansOf(roundsPlan, 1, 20), shownBy: undefined },
];

describe("the simulator finds every mutant", () => {
  test.concurrent.each(wanted)(
    "$name",
    async ({ name, plans, shownBy }) => {
      console.log(await findOut(pool, name, plans, shownBy));
    },
    1_200_000,
  );
});

test("an error that nothing catches is found in its own run, and does not reach the next one in the thread", async () => {
  await using one = new Pool(1);
  const plan = promisedPlan(104);
  const [thrown, next] = await Promise.all([
    one.runner(Object.keys(throwingMutant)[0]).run(plan, "error"),
    one.runner().run(plan),
  ]);
  const errors = thrown.violations.filter(({ kind }) => kind === "error").map(({ detail }) => detail);
  expect(errors).toEqual([expect.stringMatching(/^nothing catches Error: no backoff after attempt \d+$/)]);
  expect(next.verdict).toBe("ok");
});
