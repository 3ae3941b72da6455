import {
  flag,
  helpText,
  interruptedCode,
  interruption,
  known,
  parse,
  runCommand,
  text,
  UsageError,
} from "@quorlock/simulation/command-line";
import { catalogue, nameOf, type Part } from "./catalogue.ts";
import { judgementsOf } from "./edited.ts";
import { writePage } from "./page.ts";
import { checkClient, checkMutants, checkTrace, subjectNames } from "./recorded.ts";
import { judgeActions, searchesIn, type Tally, type Task, twoAtATime } from "./searches.ts";
import { traceOfSoak } from "./soaked.ts";
import { TlcError } from "./tlc.ts";
import { NoToolsError, toolsFor } from "./tools.ts";
import type { Trace } from "./trace.ts";

// The entry point of `pnpm spec`: the only module here that handles the terminal and the exit code.

const names = catalogue.map(({ module }) => nameOf(module));
const options = {
  quick: flag("small bounds, edits of two modules, no variants and no mutants"),
  edits: flag(
    "only the edits: each guard left out or weakened, which TLC refutes, or spec/accepted-edits.json says why not",
  ),
  only: text("NAME", `one module: ${names.join(", ")}`),
  traces: text(
    "N",
    "the number of runs of the client that are held against the specification, with --quick short ones; in turn of each " +
      `subject: ${subjectNames.join(", ")}; default 210, with --quick 49`,
  ),
  recorded: text(
    "FILE",
    "only this: the record that pnpm soak --record FILE has made is held against the specification",
  ),
  write: flag("writes the figures to docs/specification-figures.md"),
};
const usage = helpText({
  usage: "spec [--quick] [--edits] [--only NAME] [--traces N] [--recorded FILE] [--write]",
  about: [
    "checks the specification in spec/ with TLC: every property holds, every action is taken, every variant and",
    "every edit is refuted; runs of the client in the simulator are behaviours of it, and those of its mutants are none. With --only, no runs",
    "Java and tla2tools.jar are installed if they are missing (REDLOCK_NO_INSTALL=1 forbids it, TLA2TOOLS names a jar)",
  ],
  options,
  exit: "1 something is not as it should be, 2 it could not run",
  examples: ["spec --quick", `spec --only ${names[0]}`, "spec --recorded soak.jsonl"],
});

const say = (line: string): void => console.log(line);

async function main(args: readonly string[]): Promise<number> {
  const { quick = false, edits = false, only, traces, recorded, write = false } = parse(args, options).values;
  const runs = runsFrom(traces, quick);
  const parts = chosen(only);
  if (write && (quick || edits || only !== undefined))
    throw new UsageError("--write writes the figures of a whole run");
  const trace = recorded === undefined ? undefined : recordFrom(recorded);
  using interrupted = interruption();
  const tally: Tally = { done: [], judged: [], failures: 0 };
  try {
    const tools = await toolsFor(say);
    const how = { quick, say, interrupted, tally };
    if (trace) return (await checkTrace(tools, trace, how)) ? 0 : 1;
    const traces = async (): Promise<void> => {
      tally.failures += (await checkClient(tools, runs, how)).length;
      if (!quick) tally.failures += (await checkMutants(tools, how)).length;
    };
    const tasks: Task[] = only === undefined && !edits ? [{ isLong: true, run: traces }] : [];
    if (!edits) tasks.push(...searchesIn(tools, parts, how));
    await twoAtATime([...tasks, ...judgementsOf(tools, parts, how)]);
    if (!edits && !quick) judgeActions(parts, how);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    say(`interrupted after ${tally.done.flat().length} searches, ${tally.failures} of them FAILED`);
    return interruptedCode;
  }
  if (write) writePage(tally);
  say(tally.failures === 0 ? "all is as it should be" : `${tally.failures} FAILED`);
  return tally.failures === 0 ? 0 : 1;
}

/** @throws UsageError if no record is there. */
function recordFrom(file: string): Trace {
  try {
    return traceOfSoak(file);
  } catch (error) {
    throw new UsageError(`--recorded: ${file} is no record of the soak: ${(error as Error).message}`);
  }
}

/** @throws UsageError if it is no number. */
function runsFrom(given: string | undefined, quick: boolean): number {
  if (given === undefined) return quick ? 49 : 210;
  if (/^[1-9]\d{0,5}$/.test(given)) return Number(given);
  throw new UsageError(`--traces must be a number from 1 to 999999, but is ${given}`);
}

/** @throws UsageError if no module has such a name. */
function chosen(only: string | undefined): readonly Part[] {
  if (only === undefined) return catalogue;
  const module = `${known("module", only, names)}Model`;
  return catalogue.filter((part) => part.module === module);
}

process.exitCode = await runCommand(
  process.argv.slice(2),
  usage,
  main,
  (error) => error instanceof NoToolsError || error instanceof TlcError,
);
