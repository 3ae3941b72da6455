import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { asksForHelp, interruptedCode, UsageError } from "@quorlock/simulation/command-line";
import { type Options, optionsFrom, usage } from "./options.ts";
import { hasShown, type Report, violationsOf } from "./report/report.ts";
import { summaryOf } from "./report/summary.ts";
import { soak } from "./soak.ts";

// The entry point of `pnpm soak`: the only module that handles the terminal, the report file and the exit code.

const exitCode = { good: 0, bad: 1, couldNotRun: 2, badUsage: 64 } as const;

async function run(args: readonly string[]): Promise<number> {
  const options = optionsFrom(args, () => randomInt(2 ** 32));
  let reportSoFar: (() => Report) | undefined;
  process.once("SIGINT", () => {
    if (reportSoFar) print(reportSoFar(), options);
    console.log(
      reportSoFar ? "interrupted: the report covers the run so far" : "interrupted before the run began",
    );
    // Watchdogs end the processes that were started.
    process.exit(interruptedCode);
  });
  const report = await soak(
    options,
    (line) => console.log(line),
    (soFar) => {
      reportSoFar = soFar;
    },
  );
  print(report, options);
  return isGood(report) ? exitCode.good : exitCode.bad;
}

function print(report: Report, { json }: Options): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, undefined, 2)}\n`);
  for (const line of ["", ...summaryOf(report)]) console.log(line);
}

function isGood(report: Report): boolean {
  if (report.mode === "unsafe") return hasShown(report);
  // A run without grants or faults shows nothing.
  return report.grants > 0 && Object.keys(report.faults).length > 0 && violationsOf(report).length === 0;
}

for (const signal of ["SIGTERM", "SIGHUP"] as const) {
  // Watchdogs end the processes that were started.
  process.on(signal, () => process.exit(exitCode.couldNotRun));
}
try {
  const args = process.argv.slice(2);
  if (asksForHelp(args)) console.log(usage);
  else process.exitCode = await run(args);
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = exitCode.badUsage;
  } else {
    console.error(`pnpm soak failed: ${error instanceof Error ? error.message : String(error)}`);
    // Processes and connections that are still open would keep this process alive.
    process.exit(exitCode.couldNotRun);
  }
}
