import { describe, expect, test } from "vitest";
import type { Verdict } from "../checkers/findings.ts";
import { promisedPlan } from "../plan/swarm.ts";
import type { Outcome } from "../run/run-plan.ts";
import { explore } from "./explore.ts";
import type { Trial } from "./runner.ts";

async function* trialsThatEnd(...verdicts: readonly Verdict[]): AsyncGenerator<Trial> {
  const counts = { attempts: 1, operations: 1, events: 1, simulated: 1, leastMargin: 1 };
  for (const verdict of verdicts) {
    const outcome: Outcome = {
      verdict,
      violations: [],
      hash: "",
      marks: new Map(),
      maxCalls: new Map(),
      ...counts,
    };
    yield { plan: promisedPlan(1), outcome };
  }
}

describe("the verdict of an exploration", () => {
  test.each<[Verdict, readonly Verdict[]]>([
    ["ok", ["ok", "ok"]],
    ["unknown", ["ok", "unknown", "ok"]],
    ["unknown", ["unknown"]],
    ["unknown", []],
    ["violated", ["ok", "unknown", "violated"]],
  ])("is %s of runs that end %j", async (verdict, runs) => {
    expect((await explore(trialsThatEnd(...runs))).verdict).toBe(verdict);
  });
});
