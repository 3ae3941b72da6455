import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "./cli/pool.ts";
import { findOut } from "./mutants/find-out.ts";
import { theOnce } from "./once/once-client.ts";
import type { Plan } from "./plan/plan.ts";
import { guardedPlan, promisedPlan, sharedServerPlan, watchedPlan } from "./plan/swarm.ts";
import { theReadWriteLock } from "./read-write/read-write-client.ts";
import { runPlan } from "./run/run-plan.ts";
import type { Subject } from "./run/subject.ts";
import { explore, plansOf } from "./search/explore.ts";
import { inOrder } from "./search/runner.ts";
import { roundsPlan } from "./semaphore/rounds-plan.ts";
import { theSemaphore } from "./semaphore/semaphore-client.ts";

// One look at each kind of search, in virtual time. `pnpm test:deep` searches for all mutants, and through more seeds.

const pool = new Pool();
afterAll(() => pool.close());

/** Runs of these are short. */
const first = 39;

test.each<{ what: string; planOf: (seed: number) => Plan; seeds: number; from?: number; subject?: Subject }>([
  { what: "the client, as promised", planOf: promisedPlan, seeds: 2 },
  { what: "the client with the restart guard", planOf: guardedPlan, seeds: 1, from: 43 },
  { what: "two masters that are one server", planOf: sharedServerPlan, seeds: 1 },
  { what: "the semaphore", planOf: promisedPlan, seeds: 1, subject: theSemaphore },
  { what: "the readers-writer lock", planOf: promisedPlan, seeds: 1, subject: theReadWriteLock },
  { what: "jobs that run once", planOf: promisedPlan, seeds: 1, subject: theOnce },
])("$what: nothing is violated", async ({ planOf, seeds, from = first, subject }) => {
  const { violated, marks, runs } = await explore(
    inOrder(pool.runner(subject?.name), plansOf(planOf, from, seeds)),
  );
  expect(violated.flatMap(({ plan, outcome }) => [plan.seed, outcome.violations])).toEqual([]);
  expect(runs).toBe(seeds);
  expect(marks.get("granted")).toBeGreaterThan(0);
});

describe("mutants are found", () => {
  test.concurrent.each([
    ["a minority is a quorum", promisedPlan, 8],
    ["a clock step is never reported", watchedPlan, 8],
    ["a server votes once for each of its addresses", sharedServerPlan, 1],
    ["a slot more than the limit", roundsPlan, 1],
    ["a reader does not look for the writer", promisedPlan, 1],
    ["a job's lock is released at its end", promisedPlan, 1],
  ] as const)("%s", async (name, planOf, first) => {
    expect(await findOut(pool, name, plansOf(planOf, first, 8))).toContain(name);
  });
});

test("one plan comes to one hash twice", async () => {
  const plan = promisedPlan(8);
  const first = await runPlan(plan);
  expect((await runPlan(plan)).hash).toBe(first.hash);
});
