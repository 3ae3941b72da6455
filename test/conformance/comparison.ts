import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { CaseResult } from "./processes/case-process.ts";
import { repositoryRoot } from "./processes/child.ts";
import { pageFile, pageOf, type RecordedCase, recordedCases } from "./table.ts";

// The comparison in the README. Its second half is counted from the recorded results, so a result in docs/conformance.md
// cannot differ from the summary here. Its first half is what the libraries document.

const columns = ["Quorlock", "redlock 5", "redis-semaphore", "redlock-universal", "Redisson (Java)"];

/** By the documentation of each library, in the order of the columns. */
const features: ReadonlyArray<readonly string[]> = [
  [
    "Redis clients",
    "ioredis, iovalkey, node-redis",
    "ioredis",
    "ioredis",
    "ioredis, node-redis, GLIDE",
    "its own",
  ],
  ["published", "**not yet**", "beta only", "yes", "yes", "yes"],
  [
    "servers",
    "independent masters, or one",
    "independent masters",
    "independent masters, or one",
    "independent masters, or one",
    "one with replicas; independent masters are deprecated",
  ],
  ["waiters", "FIFO queue, notified", "poll", "poll", "poll", "notified; FIFO by `FairLock`"],
  ["several resources in one lock", "yes", "yes", "no", "yes", "`MultiLock`"],
  ["fencing token", "yes", "no", "no", "no", "`FencedLock`"],
  ["semaphore", "yes", "no", "yes", "no", "yes"],
  ["readers-writer lock", "yes", "no", "no", "no", "yes"],
  ["logger", "yes", "no", "no", "yes", "yes"],
  ["health check", "`ready`", "no", "no", "`getHealth`", "node groups"],
  ["spans and metrics", "OpenTelemetry", "no", "no", "no", "PRO only"],
  ["connections to a server, for each process", "**3**", "1", "1", "1", "a pool"],
  ["maps, queues, latches", "**no**", "no", "no", "no", "yes"],
];

/** Situations, and the rows that show them. */
const situations: ReadonlyArray<readonly [situation: string, rows: readonly number[]]> = [
  ["each call settles in time", [1, 2, 3, 14]],
  ["`acquire` never returns an expired lock", [4, 5]],
  ["three clients ask at once: one of them gets the lock", [6]],
  ["the holder is notified before others can hold", [7, 8, 9, 17, 20]],
  ["failed attempts leave no keys", [12, 16]],
  ["a semaphore keeps its limit", [18]],
  ["one holder, although a master loses data or its clock jumps (Quorlock: with options)", [27, 31]],
  ["reconnects after failover and password changes", [32]],
  ["other cases", [10, 11, 13, 15, 19, 21, 22, 23, 24, 25, 26, 28, 29, 30, 33]],
];

const libraries = ["quorlock", "redlock-5", "redis-semaphore", "redlock-universal"];
const begin = "<!-- comparison: written by `pnpm conformance --write` -->\n\n";
const end = "\n<!-- end of the comparison -->";

function comparison(cases: readonly RecordedCase[]): string {
  const unknown = cases.find(({ row }) => !situations.some(([, numbers]) => numbers.includes(row)));
  if (unknown) throw new Error(`row ${unknown.row} belongs to no situation of the comparison`);
  const measured = situations.map(([situation, numbers]) => {
    const chosen = cases.filter(({ row }) => numbers.includes(row));
    const verdicts = libraries.map((library) => verdict(chosen.map(({ results }) => results[library]!.mark)));
    return [situation, ...verdicts, "not run"];
  });
  return table([["", ...columns], ...features, ...measured]);
}

function verdict(marks: readonly CaseResult["mark"][]): string {
  const tried = marks.filter((mark) => mark !== "n/a");
  if (tried.length === 0) return "n/a";
  const failed = tried.filter((mark) => mark !== "conforms").length;
  return failed === 0 ? "yes" : `**${failed} of ${tried.length} fail**`;
}

/** Padded as the formatter of this repository pads tables. */
function table(rows: ReadonlyArray<readonly string[]>): string {
  const widths = rows[0]!.map((_, column) => Math.max(3, ...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)));
  const rule = widths.map((width) => "-".repeat(width));
  return [lines[0]!, rule, ...lines.slice(1)].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

/** `readme` with the comparison of `cases` in its place. */
export function withComparison(readme: string, cases: readonly RecordedCase[]): string {
  const from = readme.indexOf(begin) + begin.length;
  const until = readme.indexOf(end);
  if (from < begin.length || until < from) throw new Error("README.md has no place for the comparison");
  return readme.slice(0, from) + comparison(cases) + readme.slice(until);
}

/** Writes docs/conformance.md, and the comparison in README.md. */
export function writeDocuments(): void {
  const cases = recordedCases();
  writeFileSync(pageFile, pageOf(cases));
  const readme = join(repositoryRoot, "README.md");
  writeFileSync(readme, withComparison(readFileSync(readme, "utf8"), cases));
  console.log("written to docs/conformance.md and README.md");
}
