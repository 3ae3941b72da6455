import { writeFile } from "node:fs/promises";
import { scenarioImplementations } from "../peers/subject-named.ts";
import { scenarioDocument } from "../scenarios/document.ts";
import {
  deviations,
  outcomeText,
  runScenarios,
  type ScenarioReport,
  scenarioSeeds,
} from "../scenarios/run-scenario.ts";
import type { Scenario } from "../scenarios/scenario.ts";
import { scenarios as library } from "../scenarios/scenarios.ts";
import { flag, parse, text, UsageError, wholeNumber } from "./arguments.ts";
import { type Command, exitCodes } from "./command.ts";
import { writeReplay } from "./files.ts";

/** Where `--write` puts the table. */
export const scenarioDocumentFile: URL = new URL("../../../../docs/scenarios.md", import.meta.url);

export const scenarios: Command = {
  usage: "scenarios [NAME] [--seed N] [--save FILE] [--write]",
  purpose: "what may happen to a lock, with this client and with node-redlock 5 in its place",
  async run(args) {
    const { values, positionals } = parse(args, { seed: text, save: text, write: flag }, 1);
    const { seed, save, write } = values;
    const [name] = positionals;
    if (write === true && (name !== undefined || seed !== undefined))
      throw new UsageError("--write takes all scenarios and all their seeds");
    if (save !== undefined && (name === undefined || seed === undefined))
      throw new UsageError("--save takes one scenario and one seed");
    const seeds = seed === undefined ? scenarioSeeds : [wholeNumber("seed", seed)];
    const reports = await runScenarios(chosen(name), await scenarioImplementations(), seeds);
    const wrong = reports.filter((report) => deviations(report).length > 0);
    for (const line of table(reports)) console.log(line);
    if (name !== undefined) for (const line of story(reports[0]!.scenario)) console.log(line);
    for (const line of wrong.flatMap(deviations)) console.log(line);
    if (typeof save === "string") await saveReplay(save, reports[0]!.scenario, seeds[0]!);
    if (write === true) await writeFile(scenarioDocumentFile, scenarioDocument(reports));
    console.log(`${reports.length - wrong.length} of ${reports.length} as declared`);
    return wrong.length > 0 ? exitCodes.violated : exitCodes.ok;
  },
};

/** For `replay`, which shows the trace and draws the picture. */
function saveReplay(file: string, { name, story, plan }: Scenario, seed: number): Promise<void> {
  return writeReplay(file, { version: 1, plan: plan(seed), about: `${name}, seed ${seed}: ${story}` });
}

function chosen(name: string | undefined): readonly Scenario[] {
  if (name === undefined) return library;
  const scenario = library.find((candidate) => candidate.name === name);
  if (scenario) return [scenario];
  const names = library.map((candidate) => candidate.name).join(", ");
  throw new UsageError(`there is no scenario "${name}"; there are ${names}`);
}

function table(reports: readonly ScenarioReport[]): readonly string[] {
  const rows = [
    ["scenario", "expected of Quorlock", "Quorlock", "node-redlock 5", ""],
    ...reports.map((report) => [
      report.scenario.name,
      report.scenario.expected.quorlock,
      outcomeText(report.results.quorlock),
      outcomeText(report.results["redlock-5"]),
      deviations(report).length > 0 ? "not as declared" : "",
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
}

function story({ title, story, source, safeWith }: Scenario): readonly string[] {
  const address = source.url ? `, ${source.url}` : "";
  const later = safeWith ? [`Quorlock will be safe here with ${safeWith}.`] : [];
  return ["", `${title}.`, story, ...later, `Source: ${source.text}${address}`, ""];
}
