import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { scenarioDocumentFile } from "../cli/scenarios.ts";
import { scenarioImplementations } from "../peers/subject-named.ts";
import { replayFileFrom, textOf } from "../plan/replay-file.ts";
import { scenarioDocument } from "./document.ts";
import { onlyWith } from "./evidence.ts";
import { deviations, runScenarios, type ScenarioReport } from "./run-scenario.ts";
import { scenarios } from "./scenarios.ts";

async function reportsOf(...request: Parameters<typeof runScenarios>): Promise<ScenarioReport[]> {
  const all: ScenarioReport[] = [];
  for await (const report of runScenarios(...request)) all.push(report);
  return all;
}

let reports: ReadonlyMap<string, ScenarioReport>;

beforeAll(async () => {
  const all = await reportsOf(scenarios, await scenarioImplementations());
  reports = new Map(all.map((report) => [report.scenario.name, report]));
});

test.each(scenarios)(
  "$name: every seed comes to what is declared, and shows what it tells of",
  ({ name }) => {
    expect(deviations(reports.get(name)!)).toEqual([]);
  },
);

test("the document matches the results: `pnpm sim scenarios --write` writes it", async () => {
  expect(await readFile(scenarioDocumentFile, "utf8")).toBe(scenarioDocument([...reports.values()]));
});

describe("differences from the declaration are reported", () => {
  const [scenario] = scenarios;
  const seeds = [1, 2];

  test("an outcome", async () => {
    const wrong = { ...scenario!, expected: { quorlock: "safe", "redlock-5": "stale write" } } as const;
    const [report] = await reportsOf([wrong], await scenarioImplementations(), seeds);
    expect(deviations(report!)).toEqual([
      'pause-after-the-check with quorlock: declared as "safe", came to "stale write"',
    ]);
  });

  test("evidence that was not observed, with its subject", async () => {
    const never = { what: "pigs flew", isIn: () => false };
    const wrong = { ...scenario!, shows: [onlyWith("redlock-5", never)] };
    const [report] = await reportsOf([wrong], await scenarioImplementations(), seeds);
    expect(deviations(report!)).toEqual(
      seeds.map(
        (seed) => `pause-after-the-check with redlock-5, seed ${seed}: it was not seen that pigs flew`,
      ),
    );
  });
});

describe("the library", () => {
  test("has each name once, in kebab-case", () => {
    const names = scenarios.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
  });

  test.each(scenarios)("$name is a plan that a file can hold", ({ plan }) => {
    const file = { version: 1, plan: plan(3), subject: "quorlock" } as const;
    expect(replayFileFrom(textOf(file)).plan).toEqual(plan(3));
  });
});
