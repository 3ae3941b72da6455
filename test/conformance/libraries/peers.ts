import { suggestion, UsageError } from "@quorlock/simulation/command-line";
import { Child, withMessages } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { type Case, nameOf, rows } from "../case.ts";
import { cases } from "../cases.ts";
import { writeDocuments } from "../comparison.ts";
import { outcomeOf } from "../outcome.ts";
import type { CaseMessage, CaseResult, CaseTask } from "../processes/case-process.ts";
import { errorLineOf, repositoryRoot } from "../processes/child.ts";
import { pageOf, writeRecord } from "../table.ts";
import { libraryNames } from "./libraries.ts";

// The same cases, run against what users have today: a table to read, not a test. Each case of each library is a
// process of its own, so that one that hangs, or ends, takes nothing with it.

/** No case takes longer, ms: what does is ended. The longest waits for 40 s. */
const caseLimit = 90_000;
/** The maximum number of waiting cases at the same time. The others run alone, because they measure time. */
const mostAtOnce = 4;

export interface PeersOptions {
  readonly rows: readonly number[];
  readonly libraries: readonly string[];
}

/**
 * Runs the cases and prints the table; records the results, and writes the documents, if it has every row and library. Each
 * result is printed as it arrives, so `onResult` has only to count them.
 */
export async function comparePeers(
  options: PeersOptions,
  onResult: (done: number, total: number) => void,
): Promise<void> {
  const chosen = cases.filter(({ row }) => options.rows.includes(row));
  await using masters = await startMasters(3, { say: () => {} });
  const results = new Map<string, CaseResult>();
  const pairs = chosen.flatMap((one) => options.libraries.map((library) => ({ one, library })));
  const run = async ({ one, library }: (typeof pairs)[number]) => {
    const result = await resultOf(one, library, masters);
    console.log(`${result.mark.padEnd(8)} ${library}, ${nameOf(one)}: ${result.observed}`);
    results.set(`${library} ${nameOf(one)}`, result);
    onResult(results.size, pairs.length);
  };
  const waiting = pairs.filter(({ one }) => one.mostlyWaits);
  await Promise.all(Array.from({ length: mostAtOnce }, () => drain(waiting, run)));
  await drain(
    pairs.filter(({ one }) => !one.mostlyWaits),
    run,
  );
  const recorded = chosen
    .toSorted((a, b) => a.row - b.row)
    .map((one) => ({
      row: one.row,
      situation: one.situation,
      demanded: one.bound,
      results: Object.fromEntries(
        options.libraries.map((library) => [library, results.get(`${library} ${nameOf(one)}`)!]),
      ),
    }));
  console.log(`\n${pageOf(recorded)}`);
  if (chosen.length < cases.length || options.libraries.length < libraryNames.length) return;
  writeRecord(recorded);
  writeDocuments();
}

/** Takes one after the other until none is left; several may take from the same list. */
async function drain<T>(list: T[], run: (one: T) => Promise<void>): Promise<void> {
  for (let next = list.shift(); next; next = list.shift()) await run(next);
}

async function resultOf(one: Case, library: string, masters: Masters): Promise<CaseResult> {
  const task: CaseTask = {
    library,
    name: nameOf(one),
    masters: masters.list.map(({ host, port, url }) => ({ host, port, url })),
  };
  const program = new URL("../processes/case-process.ts", import.meta.url);
  const options = { cwd: repositoryRoot, flags: ["--no-warnings"], stdio: withMessages };
  await using child = Child.node<CaseMessage>(program, [JSON.stringify(task)], options);
  const outcome = await outcomeOf(() => child.message("result"), caseLimit);
  if (outcome.kind === "resolved") return outcome.value.result;
  const isOver = outcome.kind === "pending";
  const observed = isOver ? `not over after ${caseLimit} ms` : `the process ended: ${errorLineOf(child)}`;
  return { mark: "FAILS", observed };
}

/**
 * The rows as a list with commas, and the libraries; all of them by default.
 *
 * @throws UsageError for an unknown row or library.
 */
export function peersFrom(givenRows: string | undefined, givenLibraries: readonly string[]): PeersOptions {
  for (const name of givenLibraries) {
    if (!libraryNames.includes(name))
      throw new UsageError(`unknown library "${name}": ${suggestion(name, libraryNames)}`);
  }
  const chosen = givenRows?.split(",").map(Number) ?? rows;
  if (!chosen.every((row) => rows.includes(row)))
    throw new UsageError(`--rows must be numbers from 1 to ${rows.length} with commas, but is ${givenRows}`);
  return { rows: chosen, libraries: givenLibraries.length > 0 ? givenLibraries : libraryNames };
}
