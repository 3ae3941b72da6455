import { afterEach, describe, expect, test, vi } from "vitest";
import { promisedPlan } from "../plan/swarm.ts";
import { runPlan } from "../run/run-plan.ts";
import { redlock5 } from "./redlock-5.ts";
import { subjectNamed } from "./subject-named.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("redlock 5 in our client's place", () => {
  test.each([1, 2, 4])("seed %i comes to one hash twice", async (seed) => {
    const subject = await redlock5();
    const plan = promisedPlan(seed);
    const first = await runPlan(plan, { subject });
    const second = await runPlan(plan, { subject: await redlock5() });
    expect(second.hash).toBe(first.hash);
    expect(first.marks.get("granted") ?? 0).toBeGreaterThan(0);
  });

  test("uses only the simulation's time and randomness", async () => {
    const subject = await redlock5();
    const real = [vi.spyOn(Date, "now"), vi.spyOn(Math, "random"), vi.spyOn(globalThis, "clearTimeout")];
    await runPlan(promisedPlan(4), { subject });
    for (const spy of real) expect(spy).not.toHaveBeenCalled();
  });

  test("its known faults are found inside the promised model", async () => {
    const subject = await redlock5();
    // It grants locks with no time left, and a tie makes a call that never settles.
    const missing = new Set<string>(["expired", "unsettled"]);
    for (let seed = 1; seed <= 40 && missing.size > 0; seed += 1) {
      const { violations } = await runPlan(promisedPlan(seed), { subject });
      for (const { kind } of violations) missing.delete(kind);
    }
    expect([...missing]).toEqual([]);
  }, 1_200_000);
});

test("subjects go by name, mutants too", async () => {
  expect((await subjectNamed("redlock-5"))?.name).toBe("redlock 5");
  expect((await subjectNamed("no drift is taken off"))?.name).toBe("no drift is taken off");
  expect(await subjectNamed("redlock-6")).toBeUndefined();
});
