import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { findOut } from "../mutants/find-out.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { runPlan } from "../run/run-plan.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { semaphoreMutantNames } from "./mutants.ts";
import { roundsPlan } from "./rounds-plan.ts";
import { theSemaphore } from "./semaphore-client.ts";

const pool = new Pool();
afterAll(() => pool.close());

describe("a semaphore", () => {
  test("keeps its limit in rounds of twelve clients that ask at once", async () => {
    const trials = inOrder(pool.runner(theSemaphore.name), plansOf(roundsPlan, 1, 7));
    const { violated, marks } = await explore(trials);
    expect(violated.flatMap(({ outcome }) => outcome.violations)).toEqual([]);
    // The rounds are what they are meant to be: votes are split, and some go away empty-handed.
    expect(marks.get("split vote")).toBeGreaterThan(100);
    expect(marks.get("granted")).toBeGreaterThan(3000);
  }, 1_200_000);

  test("keeps it within the promised model", async () => {
    // (`.ci/run` goes on to 300.)
    const trials = inOrder(pool.runner(theSemaphore.name), plansOf(promisedPlan, 1, 50));
    const { violated } = await explore(trials);
    expect(violated.flatMap(({ outcome }) => outcome.violations)).toEqual([]);
  }, 1_200_000);

  test("produces the same hash twice", async () => {
    const [first, second] = [
      await runPlan(promisedPlan(7), { subject: theSemaphore }),
      await runPlan(promisedPlan(7), { subject: theSemaphore, engine: "heap" }),
    ];
    expect(first.hash).toBe(second.hash);
    expect(first.marks.get("granted")).toBeGreaterThan(0);
  }, 60_000);
});

describe("the harness finds every mutant of it", () => {
  test.concurrent.each(semaphoreMutantNames)(
    "%s",
    async (name) => {
      console.log(await findOut(pool, name, plansOf(roundsPlan, 1, 20)));
    },
    1_200_000,
  );
});
