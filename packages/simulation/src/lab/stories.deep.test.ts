import { expect, test } from "vitest";
import { redlock5 } from "../peers/redlock-5.ts";
import { runPlan } from "../run/run-plan.ts";
import type { Subject } from "../run/subject.ts";
import { scenarioOutcome } from "../scenarios/scenario.ts";
import { type Story, stories } from "./stories.ts";

const seeds = [1, 2, 3, 4, 5];

async function outcomes(story: Story, isWith: boolean, subject?: Subject): Promise<Set<string>> {
  const all = new Set<string>();
  for (const seed of seeds) {
    const { verdict, violations, leastMargin } = await runPlan(
      story.plan(seed, isWith),
      subject ? { subject } : {},
    );
    const outcome = scenarioOutcome(verdict, violations);
    // A safe run is not red in the picture, and no command says that others could win.
    if (outcome === "safe") expect(leastMargin).toBeGreaterThan(0);
    all.add(outcome);
  }
  return all;
}

test.each(stories)("the story $name ends as the lab says, with every seed", async (story) => {
  const { quorlock, "redlock-5": peer } = story.expected;
  expect([...(await outcomes(story, true))]).toEqual([quorlock[0]]);
  expect([...(await outcomes(story, false))]).toEqual([quorlock[1]]);
  const subject = await redlock5();
  for (const isWith of [true, false]) expect([...(await outcomes(story, isWith, subject))]).toEqual([peer]);
});
