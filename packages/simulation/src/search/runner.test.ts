import { describe, expect, test } from "vitest";
import { promisedPlan } from "../plan/swarm.ts";
import type { Outcome } from "../run/run-plan.ts";
import { explore, plansOf } from "./explore.ts";
import { inOrder, type Runner } from "./runner.ts";

/** The expected outcome of this seed; `run-plan.deep.test.ts` checks that it is the same in each thread. */
function outcomeOf(seed: number): Outcome {
  return {
    verdict: seed % 5 === 0 ? "violated" : "ok",
    violations: [],
    hash: String(seed),
    marks: new Map([["granted", seed]]),
    leastMargin: 1 / seed,
    operations: 2 * seed,
    attempts: seed,
    events: 10 * seed,
    simulated: 1,
    maxCalls: new Map(),
  };
}

/** Runs are through in whatever order: each takes another number of turns. */
function disorderly(width: number): Runner {
  return {
    width,
    run: async ({ seed }) => {
      for (let turns = (seed * 7) % 11; turns > 0; turns -= 1) await Promise.resolve();
      return outcomeOf(seed);
    },
  };
}

function until(_: unknown, { attempts }: { readonly attempts: number }): boolean {
  return attempts >= 500;
}

describe("runs side by side", () => {
  test("return their outcomes in the order of their plans", async () => {
    const seeds: number[] = [];
    for await (const { plan } of inOrder(disorderly(3), plansOf(promisedPlan, 1, 40))) seeds.push(plan.seed);
    expect(seeds).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  });

  test("add up to the same result on any number of threads", async () => {
    const [one, many] = [
      await explore(inOrder(disorderly(1), plansOf(promisedPlan, 1)), until),
      await explore(inOrder(disorderly(4), plansOf(promisedPlan, 1)), until),
    ];
    expect(many).toEqual(one);
    // 1 + 2 + ... + 32 = 528.
    expect(one).toMatchObject({
      runs: 32,
      attempts: 528,
      grants: 528,
      leastMargin: 1 / 32,
      verdict: "violated",
    });
    expect(one.violated.map(({ plan }) => plan.seed)).toEqual([5, 10, 15, 20, 25, 30]);
  });

  test("a run that fails rejects for its consumer", async () => {
    const failing: Runner = { width: 2, run: () => Promise.reject(new Error("no memory")) };
    await expect(explore(inOrder(failing, plansOf(promisedPlan, 1, 9)))).rejects.toThrow("no memory");
  });
});
