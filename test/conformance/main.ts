import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  flag,
  helpText,
  interruptedCode,
  known,
  parse,
  runCommand,
  suggestion,
  text,
  UsageError,
} from "@quorlock/simulation/command-line";
import { Child, withMessages } from "@quorlock/simulation/processes";
import { NoMastersError, watchProcesses } from "@quorlock/testbed";
import type { Behaviour } from "../behaviours/bench.ts";
import { libraryNames } from "./lookalike.ts";
import type { Result, Said } from "./play.ts";
import { cases, nameOf } from "./promises.ts";
import { pageOf, record, writeDocuments } from "./table.ts";

const options = {
  only: text("TEXT", 'only cases whose rule and title contain TEXT, such as "2.6"'),
  peers: flag("all libraries; with all cases it records the results and does --write: about five minutes"),
  write: flag(
    "writes docs/conformance.md and the comparison of README.md from the recorded results, and runs nothing",
  ),
};
const usage = helpText({
  usage: ["conformance [--only TEXT] [--peers | LIBRARY...]", "conformance --write"],
  about: [
    "plays the cases that are about any lock library, on real masters; by default with this client",
    `LIBRARY is one of ${libraryNames.join(", ")}`,
  ],
  options,
  exit: "1 this client does not conform in a case, 2 it could not run",
  examples: ["conformance", "conformance redlock-5 --only 2.6", "conformance --peers"],
});

/** No case takes longer, ms: a process that says nothing for so long is ended. */
const limit = 30_000;

let summary = "interrupted before the first case was over";
process.once("SIGINT", () => {
  console.log(summary);
  // Cases and masters are separate processes: they end when this one does, also those that a library keeps busy.
  process.exit(interruptedCode);
});

/** Plays the cases with one library, in one process more after each that fails. */
async function play(
  library: string,
  chosen: readonly Behaviour[],
  note: (name: string, result: Result) => void,
): Promise<void> {
  const left = chosen.map(nameOf);
  const watchdog = watchProcesses(await mkdtemp(join(tmpdir(), "quorlock-conformance-")));
  while (left.length > 0) {
    const program = new URL("play.ts", import.meta.url);
    await using child = Child.node<Said>(program, [library, ...left], { stdio: withMessages });
    watchdog.add(child.process.pid!);
    await child.message("begins");
    for (let count = 1; left.length > 0; count += 1) {
      const { mark, why } = await child
        .until("the end of a case", () => child.messages[count] as Result | undefined, limit)
        .catch((error: Error): Result => ({ mark: "fails", why: error.message.split("\n")[0]! }));
      note(left.shift()!, { mark, ...(why !== undefined && { why }) });
      if (mark === "fails") break;
    }
    await child.kill();
    watchdog.remove(child.process.pid!);
  }
}

async function run(args: readonly string[]): Promise<number> {
  const { values, positionals } = parse(args, options, Number.POSITIVE_INFINITY);
  const { only = "", peers = false, write = false } = values;
  if (write) {
    if (args.length > 1) throw new UsageError("--write stands alone");
    writeDocuments();
    return 0;
  }
  for (const name of positionals) known("library", name, libraryNames);
  const chosen = cases.filter((one) => nameOf(one).includes(only));
  if (chosen.length === 0)
    throw new UsageError(`no case is named "${only}": ${suggestion(only, cases.map(nameOf))}`);
  const libraries = peers ? libraryNames : positionals.length > 0 ? positionals : ["quorlock"];
  const results: Record<string, Record<string, Result>> = {};
  let done = 0;
  const playing = libraries.map((library) => {
    results[library] = {};
    return play(library, chosen, (name, result) => {
      results[library]![name] = result;
      done += 1;
      summary = `interrupted after ${done} of ${chosen.length * libraries.length} results, which are listed above`;
      console.log(result.mark.padEnd(11), `${library},`, name, result.why ? `(${result.why})` : "");
    });
  });
  await Promise.all(playing);
  if (peers && chosen.length === cases.length) {
    record(results);
    console.log(`\n${pageOf(results)}`);
    writeDocuments();
  }
  return Object.values(results["quorlock"] ?? {}).every(({ mark }) => mark === "conforms") ? 0 : 1;
}

process.exitCode = await runCommand(
  process.argv.slice(2),
  usage,
  run,
  // Of a process that plays.
  (error) => error instanceof Error && error.message.includes(NoMastersError.name),
);
