import { startMasters } from "@quorlock/testbed";
import { type Case, notBuiltYet, rows, type Verdict } from "./case.ts";
import { cases } from "./cases.ts";
import { libraryNamed } from "./libraries.ts";
import { errorInWords, outcomeOf } from "./outcome.ts";
import { Stage } from "./stage.ts";
import { type Library, NotOfferedError } from "./subject.ts";

// The same cases, run against what users have today. Prints one line for each: a table to read, not a test.
// Usage: node --no-warnings --import tsx --conditions=quorlock-source peers.ts [--rows 1,2,3] [library...]
// Default: redlock-5, all rows, some four minutes. Without --no-warnings row 11 fills the screen for some.

/** No case takes longer by itself, ms: what does is cut off, so that the table always comes to its end. */
const caseLimit = 60_000;

type Result = { readonly mark: string; readonly observed: string };

async function play(one: Case, library: Library, stage: Stage): Promise<Result> {
  const outcome = await outcomeOf<Verdict>(() => one.run(stage), caseLimit);
  if (outcome.kind === "resolved") {
    const { conforms, observed } = outcome.value;
    return { mark: conforms ? "conforms" : "FAILS", observed };
  }
  if (outcome.kind === "pending") return { mark: "FAILS", observed: `not over after ${caseLimit} ms` };
  if (outcome.error instanceof NotOfferedError) return { mark: "not offered", observed: library.name };
  return { mark: "FAILS", observed: errorInWords(outcome.error) };
}

async function printTable(library: Library, wanted: ReadonlySet<number>): Promise<void> {
  await using masters = await startMasters(3, { say: () => {} });
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);
  process.on("unhandledRejection", onUnhandled);
  console.log(`\n| row | situation | ${library.name} | observed |\n|---|---|---|---|`);
  for (const row of rows.filter((row) => wanted.has(row))) {
    const reason = notBuiltYet.get(row);
    if (reason) console.log(`| ${row} | not built yet: ${reason} | - | - |`);
    for (const one of cases.filter((one) => one.row === row)) {
      unhandled.length = 0;
      const stage = await Stage.set(library, masters.list.slice(0, one.masters));
      const { mark, observed } = await play(one, library, stage);
      await outcomeOf(() => stage[Symbol.asyncDispose](), caseLimit);
      const rejections = unhandled.length > 0 ? `; ${unhandled.length} unhandled rejections` : "";
      console.log(`| ${row} | ${one.situation} | ${mark} | ${observed}${rejections} |`);
    }
  }
  process.off("unhandledRejection", onUnhandled);
}

const args = process.argv.slice(2);
const at = args.indexOf("--rows");
const chosen = at < 0 ? rows : args.splice(at, 2)[1]!.split(",").map(Number);
const names = args.length > 0 ? args : ["redlock-5"];
for (const name of names) await printTable(await libraryNamed(name), new Set(chosen));
// Some libraries never let go of their timers; the table is complete.
process.exit();
