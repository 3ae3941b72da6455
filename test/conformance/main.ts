import {
  flag,
  interruptedCode,
  optionLines,
  parse,
  runCommand,
  suggestion,
  text,
  UsageError,
} from "@quorlock/simulation/command-line";
import { NoMastersError } from "@quorlock/testbed";
import { nameOf, rows } from "./case.ts";
import { cases } from "./cases.ts";
import { writeDocuments } from "./comparison.ts";
import { libraryNames } from "./libraries/libraries.ts";
import { compare } from "./run.ts";

const options = {
  only: text("TEXT", 'only cases whose name contains TEXT, such as "row 12"'),
  rows: text("LIST", "only these rows, such as 1,2,3"),
  peers: flag("all libraries; with all cases it records the results and does --write: about five minutes"),
  write: flag(
    "writes docs/conformance.md and the comparison of README.md from the recorded results, and runs nothing",
  ),
};
const usage = [
  "Usage: pnpm conformance [--only TEXT] [--rows LIST] [--peers | LIBRARY...]",
  "       pnpm conformance --write",
  "  runs the cases in which lock libraries fail their users, on real masters; by default with this client",
  "Options:",
  ...optionLines(options),
  "Exit: 0 this client conforms in each case, 1 otherwise, 2 it could not run, 64 bad usage, 130 interrupted.",
].join("\n");

let summary = "interrupted before the first case was over";
process.once("SIGINT", () => {
  console.log(summary);
  // Cases and masters are separate processes: they end when this one does.
  process.exit(interruptedCode);
});

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options, Number.POSITIVE_INFINITY);
  const { only = "", peers = false, write = false } = values;
  if (write) {
    if (args.length > 1) throw new UsageError("--write stands alone");
    writeDocuments();
    return 0;
  }
  for (const name of positionals) {
    if (!libraryNames.includes(name))
      throw new UsageError(`unknown library "${name}": ${suggestion(name, libraryNames)}`);
  }
  const numbers = values.rows?.split(",").map(Number) ?? rows;
  if (!numbers.every((row) => rows.includes(row)))
    throw new UsageError(
      `--rows must be numbers from 1 to ${rows.length} with commas, but is ${values.rows}`,
    );
  const chosen = cases.filter((one) => numbers.includes(one.row) && nameOf(one).includes(only));
  if (chosen.length === 0)
    throw new UsageError(`no case is named "${only}": ${suggestion(only, cases.map(nameOf))}`);
  const libraries = peers ? libraryNames : positionals.length > 0 ? positionals : ["quorlock"];
  const conforms = await compare(chosen, libraries, (done, total) => {
    summary = `interrupted after ${done} of ${total} results, which are listed above`;
  });
  return conforms ? 0 : 1;
}

process.exitCode = await runCommand(
  process.argv.slice(2),
  usage,
  run,
  (error) => error instanceof NoMastersError,
);
