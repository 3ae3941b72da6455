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
import { nameOf } from "./case.ts";
import { cases } from "./cases.ts";
import { writeDocuments } from "./comparison.ts";
import { runCases } from "./libraries/own-cases.ts";
import { comparePeers, peersFrom } from "./libraries/peers.ts";

// `pnpm conformance`: runs every case against this client. `pnpm conformance --peers`: against the peers as well.

const options = {
  only: text("TEXT", 'only cases whose name contains TEXT, such as "row 12"'),
  peers: flag(
    "runs the cases against the peers as well, records the results and does --write: about five minutes",
  ),
  write: flag(
    "writes docs/conformance.md and the comparison of README.md from the recorded results, and runs nothing",
  ),
  rows: text("LIST", "with --peers: only these rows, such as 1,2,3"),
};
const usage = [
  "Usage: pnpm conformance [--only TEXT]",
  "       pnpm conformance --peers [--rows LIST] [LIBRARY...]",
  "       pnpm conformance --write",
  "  runs the cases in which lock libraries fail their users, on real masters",
  "Options:",
  ...optionLines(options),
  "Exit: 0 every case conforms (--peers: every case ran), 1 otherwise, 2 it could not run, 64 bad usage, 130 interrupted.",
].join("\n");

let summary = "interrupted before the first case was done";
process.once("SIGINT", () => {
  console.log(summary);
  // Cases and masters are processes of their own: they end when this one does.
  process.exit(interruptedCode);
});

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options, Number.POSITIVE_INFINITY);
  const { only = "", peers = false, write = false, rows } = values;
  if (write) {
    if (args.length > 1) throw new UsageError("--write stands alone");
    writeDocuments();
    return 0;
  }
  if (peers) {
    await comparePeers(peersFrom(rows, positionals), (done, total) => {
      summary = `interrupted after ${done} of ${total} results, which are listed above`;
    });
    return 0;
  }
  if (rows !== undefined || positionals.length > 0) throw new UsageError("rows and libraries need --peers");
  const names = cases.map(nameOf);
  const total = names.filter((name) => name.includes(only)).length;
  if (total === 0) throw new UsageError(`no case is named "${only}": ${suggestion(only, names)}`);
  return await runCases(only, (done, failed) => {
    summary = `interrupted after ${done} of ${total} cases, ${failed} of them FAILED`;
  });
}

process.exitCode = await runCommand(
  process.argv.slice(2),
  usage,
  run,
  (error) => error instanceof NoMastersError,
);
