import { Child, withMessages } from "@quorlock/simulation/processes";
import { type Masters, startMasters } from "@quorlock/testbed";
import { type Case, nameOf } from "./case.ts";
import { cases } from "./cases.ts";
import { writeDocuments } from "./comparison.ts";
import { libraryNames } from "./libraries/libraries.ts";
import { outcomeOf } from "./outcome.ts";
import type { CaseMessage, CaseResult, CaseTask } from "./processes/case-process.ts";
import { errorLineOf, repositoryRoot } from "./processes/child.ts";
import { pageOf, writeRecord } from "./table.ts";

// The same cases, run against what users have today: a table to read, not a test. Each case of each library is a
// separate process, so that one that hangs, or ends, takes nothing with it.

/** No case takes longer, ms: what does is ended. The longest waits for 40 s. */
const caseLimit = 90_000;
/** The maximum number of waiting cases at the same time. The others run alone, because they measure time. */
const mostAtOnce = 4;

/**
 * Runs the cases and prints the table; records the results, and writes the documents, if it has every case and library. Each
 * result is printed as it arrives, so `onResult` has only to count them.
 *
 * @returns whether this client, if it is one of the libraries, conforms in each case.
 */
export async function compare(
  chosen: readonly Case[],
  libraries: readonly string[],
  onResult: (done: number, total: number) => void,
): Promise<boolean> {
  await using masters = await startMasters(3, { say: () => {} });
  const results = new Map<string, CaseResult>();
  const pairs = chosen.flatMap((one) => libraries.map((library) => ({ one, library })));
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
        libraries.map((library) => [library, results.get(`${library} ${nameOf(one)}`)!]),
      ),
    }));
  console.log(`\n${pageOf(recorded)}`);
  if (chosen.length === cases.length && libraries.length === libraryNames.length) {
    writeRecord(recorded);
    writeDocuments();
  }
  return recorded.every(({ results: { quorlock } }) => quorlock?.mark !== "FAILS");
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
  const program = new URL("processes/case-process.ts", import.meta.url);
  const options = { cwd: repositoryRoot, flags: ["--no-warnings"], stdio: withMessages };
  await using child = Child.node<CaseMessage>(program, [JSON.stringify(task)], options);
  const outcome = await outcomeOf(() => child.message("result"), caseLimit);
  if (outcome.kind === "resolved") return outcome.value.result;
  const isOver = outcome.kind === "pending";
  const observed = isOver ? `not over after ${caseLimit} ms` : `the process ended: ${errorLineOf(child)}`;
  return { mark: "FAILS", observed };
}
