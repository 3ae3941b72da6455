import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { subjectNamed } from "../peers/subject-named.ts";
import { replayFileFrom } from "../plan/replay-file.ts";
import { runPlan } from "../run/run-plan.ts";

// PROTOCOL 5.8.

// Plans of failures that were found once, kept so that they stay fixed.

const bank = new URL("../../bank/", import.meta.url);
const names = readdirSync(bank).filter((name) => name.endsWith(".json"));

describe("the seed bank", () => {
  test.each(names)(
    "%s",
    async (name) => {
      const {
        plan,
        subject: mutant,
        expected,
        about,
      } = replayFileFrom(readFileSync(new URL(name, bank), "utf8"));
      expect(about).toBeDefined();
      // The client as it is survives it.
      const { violations, verdict } = await runPlan(plan);
      expect(violations).toEqual([]);
      expect(verdict).toBe("ok");
      if (mutant === undefined) return;
      // And it still shows what it was kept for.
      const subject = (await subjectNamed(mutant))!;
      expect((await runPlan(plan, { subject })).verdict).toBe(expected!.verdict);
    },
    300_000,
  );

  test("keeps the plans of at least five mutants", () => {
    expect(names.length).toBeGreaterThanOrEqual(7);
  });
});
