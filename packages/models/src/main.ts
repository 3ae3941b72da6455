import { setImmediate as nextTurn } from "node:timers/promises";
import {
  flag,
  interruptedCode,
  interruption,
  optionLines,
  parse,
  runCommand,
  suggestion,
  text,
  UsageError,
} from "@quorlock/simulation/command-line";
import { catalogue } from "./catalogue.ts";
import { type Check, type CheckResult, checkMutant, checkProtocol } from "./check.ts";

// The entry point of `pnpm models`: the only module here that handles the terminal and the exit code.

const protocols = [...new Set(catalogue.map(({ protocol }) => protocol))];
const options = {
  only: text("NAME", `only protocols whose name contains NAME: ${protocols.join(", ")}`),
  deep: flag("wider bounds as well: minutes, and some gigabytes"),
  stories: flag("prints the steps of the shortest path to each mutant's fault"),
};
const usage = [
  "Usage: pnpm models [--only NAME] [--deep] [--stories]",
  "  searches every state of small models of the protocols, and finds every mutant of them",
  "Options:",
  ...optionLines(options),
  "Exit: 0 all models hold and every mutant was found, 1 otherwise, 64 bad usage, 130 interrupted.",
].join("\n");

interface Tally {
  done: number;
  failures: number;
}

async function main(args: readonly string[]): Promise<number> {
  const { only = "", deep = false, stories = false } = parse(args, options).values;
  const checks = chosen(only, deep);
  const total = checks.reduce((sum, { mutants }) => sum + 1 + mutants.length, 0);
  const tally: Tally = { done: 0, failures: 0 };
  using interrupted = interruption();
  try {
    await runAll(checks, stories, interrupted, tally);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    console.log(`interrupted after ${tally.done} of ${total} searches, ${tally.failures} of them FAILED`);
    return interruptedCode;
  }
  console.log(tally.failures === 0 ? "all hold, and every mutant was found" : `${tally.failures} FAILED`);
  return tally.failures === 0 ? 0 : 1;
}

async function runAll(
  checks: readonly Check[],
  stories: boolean,
  interrupted: AbortSignal,
  tally: Tally,
): Promise<void> {
  const pause = async (): Promise<void> => {
    await nextTurn();
    interrupted.throwIfAborted();
  };
  const report = ({ passed, lines }: CheckResult): Promise<void> => {
    for (const line of lines) console.log(line);
    tally.done += 1;
    if (!passed) tally.failures += 1;
    return pause();
  };
  for (const check of checks) {
    await report(await checkProtocol(check, pause));
    for (const mutant of check.mutants) await report(await checkMutant(check, mutant, stories, pause));
  }
}

/** @throws UsageError if no protocol has such a name. */
function chosen(only: string, deep: boolean): readonly Check[] {
  if (!protocols.some((protocol) => protocol.includes(only)))
    throw new UsageError(`unknown protocol "${only}": ${suggestion(only, protocols)}`);
  const checks = catalogue.filter(
    ({ protocol, level }) => protocol.includes(only) && (level !== "deep" || deep),
  );
  if (checks.length === 0) throw new UsageError(`--only ${only} has deep bounds only: add --deep`);
  return checks;
}

process.exitCode = await runCommand(process.argv.slice(2), usage, main);
