import { expect, test } from "vitest";
import type { Plan } from "../plan/plan.ts";
import { promisedPlan } from "../plan/swarm.ts";
import { pictureOf } from "./picture-of.ts";
import { record } from "./recording.ts";

/** Outside of the model: keys expire before their holders expect it. */
function withFastMasters(plan: Plan): Plan {
  return { ...plan, masters: plan.masters.map((master) => ({ ...master, rate: master.rate + 60_000 })) };
}

/** Short runs, some of which lead to two holders with fast masters, and some of which do not. */
const seeds = [2, 5, 6, 10, 19, 37, 55, 59, 75];

test.each([
  ["within the model", (plan: Plan): Plan => plan],
  ["with fast masters", withFastMasters],
])("%s, there is a red band exactly where the checker finds two believers", async (_, changed) => {
  const found: number[] = [];
  for (const seed of seeds) {
    const recording = await record(changed(promisedPlan(seed)));
    const { overlaps } = pictureOf(recording);
    const beliefs = recording.outcome.violations.filter(({ kind }) => kind === "belief");
    if (beliefs.length > 0) found.push(seed);
    expect(overlaps.length > 0, `seed ${seed}`).toBe(beliefs.length > 0);
    for (const { at } of beliefs) {
      const near = overlaps.filter(({ from, until }) => from <= at * 1000 + 1 && until >= at * 1000 - 1);
      expect(near, `seed ${seed} at ${at} ms`).not.toHaveLength(0);
    }
  }
  expect(found.length > 0).toBe(changed === withFastMasters);
});
