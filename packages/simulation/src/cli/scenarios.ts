import { writeFile } from "node:fs/promises";
import { until } from "../command-line/interruption.ts";
import { flag, parse, text, UsageError } from "../command-line/options.ts";
import { known, wholeNumber } from "../command-line/program.ts";
import { scenarioImplementations } from "../peers/subject-named.ts";
import { pictureOf } from "../pictures/picture-of.ts";
import { record } from "../pictures/recording.ts";
import { runStrip } from "../pictures/run-strip.ts";
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
import { type Command, exitCodes, neverInterrupted } from "./command.ts";
import { writeReplay, writeText } from "./files.ts";

/** Where `--write` puts the table. */
export const scenarioDocumentFile: URL = new URL("../../../../docs/scenarios.md", import.meta.url);

const options = {
  seed: text("N", "runs this seed only; default: ten seeds"),
  save: text("FILE", "saves the plan of one scenario and one seed for `pnpm sim replay`"),
  svg: text("FILE", "draws one scenario and one seed: leases, keys, faults, and two holders at once"),
  write: flag("writes the table to docs/scenarios.md"),
};

export const scenarios: Command = {
  usage: "scenarios [NAME] [--seed N] [--save FILE] [--svg FILE] [--write]",
  about: "runs scenarios that put a lock at risk, with this client and with node-redlock 5",
  options,
  examples: ["scenarios", "scenarios --write"],
  isInterruptible: true,
  async run(args, interrupted = neverInterrupted) {
    const { values, positionals } = parse(args, options, 1);
    const { seed, save, svg, write } = values;
    const [name] = positionals;
    if (write === true && (name !== undefined || seed !== undefined))
      throw new UsageError("--write takes all scenarios and all their seeds");
    for (const [option, file] of Object.entries({ save, svg })) {
      if (file !== undefined && (name === undefined || seed === undefined))
        throw new UsageError(`--${option} takes one scenario and one seed`);
    }
    const seeds = seed === undefined ? scenarioSeeds : [wholeNumber("seed", seed, 0)];
    const selected = chosen(name);
    const reports: ScenarioReport[] = [];
    const running = runScenarios(selected, await scenarioImplementations(), seeds);
    for await (const report of until(interrupted, running)) reports.push(report);
    const wrong = reports.filter((report) => deviations(report).length > 0);
    for (const line of table(reports)) console.log(line);
    if (interrupted.aborted)
      console.log(`interrupted after ${reports.length} of ${selected.length} scenarios`);
    if (name !== undefined && reports.length > 0)
      for (const line of story(reports[0]!.scenario)) console.log(line);
    for (const line of wrong.flatMap(deviations)) console.log(line);
    if (save !== undefined && reports.length > 0) await saveReplay(save, reports[0]!.scenario, seeds[0]!);
    if (svg !== undefined && reports.length > 0) await draw(svg, reports[0]!.scenario, seeds[0]!);
    if (write === true && !interrupted.aborted)
      await writeFile(scenarioDocumentFile, scenarioDocument(reports));
    console.log(`${reports.length - wrong.length} of ${reports.length} as declared`);
    return wrong.length > 0 ? exitCodes.violated : exitCodes.ok;
  },
};

/** For `replay`, which shows the trace and draws the picture. */
function saveReplay(file: string, { name, story, plan }: Scenario, seed: number): Promise<void> {
  return writeReplay(file, { version: 1, plan: plan(seed), about: `${name}, seed ${seed}: ${story}` });
}

async function draw(file: string, { name, title, plan }: Scenario, seed: number): Promise<void> {
  const command = `npx -y pnpm@12 sim scenarios ${name} --seed ${seed} --svg ${file}`;
  await writeText(file, runStrip(pictureOf(await record(plan(seed))), { title, command }));
}

function chosen(wanted: string | undefined): readonly Scenario[] {
  if (wanted === undefined) return library;
  const names = library.map(({ name }) => name);
  return [library[names.indexOf(known("scenario", wanted, names))]!];
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
