import { pictureOf } from "../pictures/picture-of.ts";
import { record } from "../pictures/recording.ts";
import type { Subject } from "../run/subject.ts";
import { type ScenarioSubject, scenarioSubjects } from "./evidence.ts";
import { type Scenario, type ScenarioOutcome, scenarioOutcome } from "./scenario.ts";

/** The seeds that a scenario is run with. */
export const scenarioSeeds: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/** The results of a scenario with one subject. */
export interface ScenarioResult {
  readonly seeds: readonly number[];
  /** The number of seeds. */
  readonly outcomes: ReadonlyMap<ScenarioOutcome, number>;
  /** The evidence that was not observed, with its seed. */
  readonly missing: readonly string[];
}

async function runScenario(
  { name, plan, shows }: Scenario,
  subject: ScenarioSubject,
  implementation: Subject,
  seeds: readonly number[],
): Promise<ScenarioResult> {
  const outcomes = new Map<ScenarioOutcome, number>();
  const missing: string[] = [];
  for (const seed of seeds) {
    const recording = await record(plan(seed), { subject: implementation });
    const { verdict, violations } = recording.outcome;
    const outcome = scenarioOutcome(verdict, violations);
    const picture = pictureOf(recording);
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    for (const { what, isIn, of } of shows) {
      if (of !== undefined && of !== subject) continue;
      if (!isIn(picture)) missing.push(`${name} with ${subject}, seed ${seed}: it was not seen that ${what}`);
    }
  }
  return { seeds, outcomes, missing };
}

/** A scenario, and what came of it with each subject. */
export interface ScenarioReport {
  readonly scenario: Scenario;
  readonly results: Readonly<Record<ScenarioSubject, ScenarioResult>>;
}

/** Runs each scenario with each subject. */
export async function* runScenarios(
  scenarios: readonly Scenario[],
  implementations: Readonly<Record<ScenarioSubject, Subject>>,
  seeds: readonly number[] = scenarioSeeds,
): AsyncGenerator<ScenarioReport, void, void> {
  for (const scenario of scenarios) {
    const results = {
      quorlock: await runScenario(scenario, "quorlock", implementations.quorlock, seeds),
      "redlock-5": await runScenario(scenario, "redlock-5", implementations["redlock-5"], seeds),
    };
    yield { scenario, results };
  }
}

/** The differences from the declaration, in words: outcomes, and evidence that was not observed. */
export function deviations({ scenario, results }: ScenarioReport): readonly string[] {
  return scenarioSubjects.flatMap((subject) => {
    const { outcomes, missing } = results[subject];
    const expected = scenario.expected[subject];
    if (outcomes.size === 1 && outcomes.has(expected)) return missing;
    const came = outcomeText(results[subject]);
    return [`${scenario.name} with ${subject}: declared as "${expected}", came to "${came}"`, ...missing];
  });
}

/** The outcome in words, with its share where seeds differ. */
export function outcomeText({ outcomes, seeds }: ScenarioResult): string {
  if (outcomes.size === 1) return [...outcomes.keys()][0]!;
  return [...outcomes].map(([outcome, count]) => `${outcome} in ${count} of ${seeds.length}`).join(", ");
}
