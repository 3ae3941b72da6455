import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import type { Plan } from "../plan/plan.ts";
import { planWith, promisedPlan } from "../plan/swarm.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { lateGrantMutant, throwingMutant } from "./caller-mutants.ts";
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

/** Calls that demand most of a lease, and wait for so long after a heartbeat that votes by it have less time left. */
function demandingPlan(seed: number): Plan {
  const ttl = 4000;
  const pauses = { nodeTimeout: 400, retryDelay: 10, retryJitter: 1 };
  const settings = { ttl, driftFactor: 0.01, retryCount: 10, automaticExtensionThreshold: 0, ...pauses };
  const plan = planWith(seed, { masters: 3, clients: 2, kinds: [], settings });
  const call = { ...pauses, ttl, waitTimeout: 20 * ttl };
  return {
    ...plan,
    duration: 20 * ttl,
    masters: plan.masters.map(({ rate, persistence }) => ({ offset: 0, rate, persistence })),
    clients: plan.clients.map(({ offset, rate, timerLateness }) => ({ offset, rate, timerLateness })),
    network: { ...plan.network, latency: { shape: "constant", ms: 1 } },
    workload: {
      resources: 1,
      parallel: 2,
      hold: 0.2 * ttl,
      think: 10,
      styles: { acquire: 1 },
      calls: [{ ...call, minimumValidity: 0.8 * ttl, retryDelay: 2 * ttl }, call],
    },
  };
}

describe("calls that demand most of a lease", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  test("are served in their order", async () => {
    const { violated, marks } = await explore(inOrder(pool.runner(), plansOf(demandingPlan, 1, 30)));
    expect(violated.flatMap(({ outcome }) => outcome.violations)).toEqual([]);
    expect(marks.get("granted")).toBeGreaterThan(100);
  }, 1_200_000);

  test(`show that ${lateGrantMutant.name}`, async () => {
    console.log(await findOut(pool, lateGrantMutant.name, plansOf(demandingPlan, 1, 30)));
  }, 1_200_000);
});
