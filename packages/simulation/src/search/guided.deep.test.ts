import { expect, test } from "vitest";
import { Pool } from "../cli/pool.ts";
import type { Plan } from "../plan/plan.ts";
import { beyondPlan } from "../plan/swarm.ts";
import { validPlan } from "../plan/validate.ts";
import { Random } from "../random.ts";
import { type Exploration, explore, plansOf } from "./explore.ts";
import { guided } from "./guided.ts";
import { inOrder } from "./runner.ts";
import { variationOf } from "./variation.ts";

/** Enough for several violations at random. */
const runs = 96;
/** At random 4 of these are violated, and 12 guided. */
const first = 200;

test("the margin guides to more violations than chance finds in as many runs, and to the same ones each time", async () => {
  await using pool = new Pool();
  const isEnough = (_: unknown, soFar: { runs: number }): boolean => soFar.runs === runs;
  const random = await explore(inOrder(pool.runner(), plansOf(beyondPlan, first)), isEnough);
  const led = await explore(guided(pool.runner(), first), isEnough);
  console.log(
    `${runs} runs: ${led.violated.length} violate when guided, ${random.violated.length} at random`,
  );
  expect(random.violated.length).toBeGreaterThan(0);
  expect(led.violated.length).toBeGreaterThan(2 * random.violated.length);
  const again = await explore(guided(pool.runner(), first), (_, soFar) => soFar.runs === 24);
  expect(hashes(again)).toEqual(hashes(led).slice(0, again.violated.length));
}, 1_200_000);

function hashes({ violated }: Exploration): readonly string[] {
  return violated.map(({ outcome }) => outcome.hash);
}

const hasFaults = (plan: Plan): boolean => plan.faults.length > 0;

test("a variation is a valid plan, and another one if there are faults to vary", () => {
  const random = new Random(1);
  const plans = Array.from({ length: 200 }, (_, index) => beyondPlan(index + 1));
  const same = plans.filter((plan) => {
    const variation = variationOf(plan, random);
    validPlan(variation);
    return JSON.stringify(variation) === JSON.stringify(plan);
  });
  // (A fault at the beginning may be moved to where it was.)
  expect(same.filter(hasFaults).length).toBeLessThan(5);
  expect(same.length).toBeLessThan(plans.filter((plan) => !hasFaults(plan)).length);
});
