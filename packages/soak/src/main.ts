import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import { NoMastersError } from "@quorlock/testbed";
import { optionsFrom, UsageError, usage } from "./options.ts";
import { hasShown, type Report, violationsOf } from "./report/report.ts";
import { summaryOf } from "./report/summary.ts";
import { soak } from "./soak.ts";

// The edge: the one place that knows of a terminal, a file, and an exit code.

const exitCode = { good: 0, bad: 1, couldNotRun: 2, badUsage: 64 } as const;

async function run(args: readonly string[]): Promise<number> {
  const options = optionsFrom(args, () => randomInt(2 ** 32));
  const report = await soak(options, (line) => console.log(line));
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(report, undefined, 2)}\n`);
  for (const line of ["", ...summaryOf(report)]) console.log(line);
  return isGood(report) ? exitCode.good : exitCode.bad;
}

function isGood(report: Report): boolean {
  if (report.mode === "unsafe") return hasShown(report);
  // Nothing is shown by a run in which nothing happened.
  return report.grants > 0 && Object.keys(report.faults).length > 0 && violationsOf(report).length === 0;
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  // What was started is ended by its watchdogs.
  process.on(signal, () => process.exit(exitCode.couldNotRun));
}
try {
  // A script that is run through pnpm is given the "--" that ended pnpm's own options.
  process.exitCode = await run(process.argv.slice(2).filter((argument) => argument !== "--"));
} catch (error) {
  if (error instanceof UsageError) {
    console.error(`${error.message}\n\n${usage}`);
    process.exitCode = exitCode.badUsage;
  } else {
    console.error(error instanceof NoMastersError ? error.message : error);
    // (What was begun and not ended may keep the process.)
    process.exit(exitCode.couldNotRun);
  }
}
