import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { startMasters } from "@quorlock/testbed";
import { machineLines } from "./measure/machine.ts";
import { type Options, optionsFrom } from "./options.ts";
import { type Goal, goalsTable, isFarOff } from "./report/goal.ts";
import { jsonOf, type Report, type Section, writeDocs } from "./report/report.ts";
import { textOf } from "./report/table.ts";
import { workloads } from "./workloads.ts";

// The measurement itself, on the built package: `main.ts` has checked the command line.

async function runAll(options: Options): Promise<void> {
  await using masters = await startMasters(5);
  const machine = await machineLines(masters);
  console.log(machine.join("\n"));
  const goals: Goal[] = [];
  const sections: Section[] = [];
  for (const workload of options.workloads) {
    const begun = performance.now();
    const findings = await workload.run(masters, options);
    const seconds = (performance.now() - begun) / 1000;
    for (const table of findings.tables) console.log(`\n${textOf(table)}`);
    const load = loadavg().map((value) => value.toFixed(2));
    console.log(`  (${workload.name}: ${seconds.toFixed(1)} s, load ${load.join(" ")})`);
    goals.push(...findings.goals);
    const { tables, measurements = [] } = findings;
    sections.push({ workload: workload.name, seconds, tables, measurements });
  }
  const date = new Date().toISOString().slice(0, 10);
  const report: Report = { date, machine, sections, goals };
  if (options.json !== undefined) writeFileSync(options.json, jsonOf(report));
  if (options.isWhole) writeDocs(report);
  conclude(goals, options);
}

function conclude(goals: readonly Goal[], { isJudging }: Options): void {
  const note = isJudging
    ? "Exit code 1: a judged goal is missed by a factor of two or more."
    : "The goals are reported only: missing one does not change the exit code.";
  console.log(`\n${textOf(goalsTable(goals, note))}`);
  const failed = goals.filter((goal) => isJudging && goal.isJudged && isFarOff(goal));
  for (const { name, unit } of failed) console.log(`FAILED by a factor of two or more: ${name} ${unit}`);
  if (failed.length > 0) process.exitCode = 1;
}

await runAll(optionsFrom(process.argv.slice(2), workloads));
