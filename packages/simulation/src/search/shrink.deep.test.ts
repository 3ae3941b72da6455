import { describe, expect, test } from "vitest";
import type { Fault } from "../plan/fault.ts";
import type { Plan } from "../plan/plan.ts";
import { beyondPlan, promisedPlan } from "../plan/swarm.ts";
import { validPlan } from "../plan/validate.ts";
import { localRunner } from "./runner.ts";
import { shrink } from "./shrink.ts";
import { simplifications } from "./simplify.ts";
import { storyOf } from "./story.ts";

const runner = localRunner();

/** Every master forgets everything, in the middle of a run with much else. */
function broken(): Plan {
  const plan = promisedPlan(1);
  const masters = plan.masters.map((_, index) => index);
  const flush: Fault = { on: "write", occurrence: 3, kind: "flush", masters };
  return { ...plan, faults: [...plan.faults, flush] };
}

describe("shrinking", () => {
  test("leaves the fault that matters, and the same kind of violation", async () => {
    const plan = broken();
    const shrunk = (await shrink(plan, runner))!;
    expect(shrunk.plan.faults.map(({ kind }) => kind)).toEqual(["flush"]);
    expect(shrunk.outcome.violations.some(({ kind }) => kind === shrunk.kind)).toBe(true);
    expect(shrunk.plan.masters).toHaveLength(1);
    expect(shrunk.plan.clients.length).toBeLessThan(plan.clients.length);
    expect(shrunk.runs).toBeLessThan(200);
    const story = await storyOf(shrunk.plan);
    expect(story[0]).toMatch(/^1 master, \d clients?; locks of/);
    expect(story.filter((line) => line.includes("FLUSHALL"))).toHaveLength(1);
    expect(story.at(-1)).toContain(`${shrunk.kind}: client-`);
  }, 1_200_000);

  test("keeps the given kind of violation", async () => {
    expect((await shrink(broken(), runner, { kind: "margin" }))!.kind).toBe("margin");
    expect(await shrink(broken(), runner, { kind: "stuck" })).toBeUndefined();
  }, 1_200_000);

  test("of a run without a violation returns nothing", async () => {
    expect(await shrink(promisedPlan(1), runner)).toBeUndefined();
  });
});

test("every simplification is a valid plan, and a different one", () => {
  for (let seed = 1; seed <= 60; seed += 1) {
    const plan = beyondPlan(seed);
    for (const simplification of simplifications) {
      for (const simpler of simplification(plan)) {
        expect(JSON.stringify(simpler)).not.toBe(JSON.stringify(plan));
        validPlan(simpler);
      }
    }
  }
});
