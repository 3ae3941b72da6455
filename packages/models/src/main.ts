import { parseArgs } from "node:util";
import { catalogue } from "./catalogue.ts";
import { type CheckResult, checkMutant, checkProtocol } from "./check.ts";

// The edge: `pnpm models`, a terminal and an exit code.

const usage = `Usage: pnpm models [--only NAME] [--deep] [--stories]
  --only NAME  only protocols whose name has NAME in it: ${[...new Set(catalogue.map(({ protocol }) => protocol))].join(", ")}
  --deep       wider bounds as well: minutes, and some gigabytes
  --stories    what happens on the shortest way to each mutant's fault
Exit: 0 all hold and every mutant was found, 1 not so, 64 bad usage.`;

function main(args: readonly string[]): number {
  const options = optionsFrom(args);
  const checks = catalogue.filter(
    ({ protocol, level }) => protocol.includes(options?.only ?? "") && (level !== "deep" || options?.deep),
  );
  if (!options || options.help || checks.length === 0) {
    console.log(usage);
    return options?.help ? 0 : 64;
  }
  let failures = 0;
  const report = ({ passed, lines }: CheckResult): void => {
    for (const line of lines) console.log(line);
    if (!passed) failures += 1;
  };
  for (const check of checks) {
    report(checkProtocol(check));
    for (const mutant of check.mutants) report(checkMutant(check, mutant, options.stories));
  }
  console.log(failures === 0 ? "all hold, and every mutant was found" : `${failures} FAILED`);
  return failures === 0 ? 0 : 1;
}

interface Options {
  readonly only?: string | undefined;
  readonly deep: boolean;
  readonly stories: boolean;
  readonly help: boolean;
}

/** None if they make no sense. */
function optionsFrom(args: readonly string[]): Options | undefined {
  const flag = { type: "boolean", default: false } as const;
  try {
    const options = { only: { type: "string" }, deep: flag, stories: flag, help: flag } as const;
    return parseArgs({ args: args.filter((argument) => argument !== "--"), options }).values;
  } catch (error) {
    console.error((error as Error).message);
    return undefined;
  }
}

process.exitCode = main(process.argv.slice(2));
