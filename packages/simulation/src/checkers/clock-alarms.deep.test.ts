import { afterAll, describe, expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import { watchedPlan } from "../plan/swarm.ts";
import { runPlan } from "../run/run-plan.ts";
import { explore, plansOf } from "../search/explore.ts";
import { inOrder } from "../search/runner.ts";
import { watchMarks } from "./findings.ts";

// PROTOCOL 1.3.

/** Earlier seeds take longer, and exclude no master for long enough. */
const first = 27;

describe("the watch of the masters' clocks", () => {
  const pool = new Pool();
  afterAll(() => pool.close());

  // `pnpm sim explore --watched --seeds 2000` goes on.
  test("reports every step and nothing else, and excluded masters do not count", async () => {
    const { violated, marks } = await explore(inOrder(pool.runner(), plansOf(watchedPlan, first, 30)));
    const told = violated.map(({ plan, outcome }) => `seed ${plan.seed}: ${outcome.violations[0]?.detail}`);
    expect(told).toEqual([]);
    for (const mark of watchMarks) expect(marks.get(mark)).toBeGreaterThan(0);
  }, 1_200_000);

  test("produces the same hash twice", async () => {
    const plan = watchedPlan(8);
    const [first, second] = [await runPlan(plan), await runPlan(plan)];
    expect(first.hash).toBe(second.hash);
    expect(first.marks.get("step told")).toBeGreaterThan(0);
  }, 60_000);
});
