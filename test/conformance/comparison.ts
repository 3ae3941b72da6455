import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./processes/child.ts";

// The comparison in the README. Its second half is counted from the table of docs/conformance.md, so a result there
// cannot differ from the summary here. Its first half is what the libraries document.

const columns = ["Quorlock", "redlock 5", "redis-semaphore", "redlock-universal", "Redisson (Java)"];

/** By the documentation of each library, in the order of the columns. */
const features: ReadonlyArray<readonly string[]> = [
  [
    "Redis clients",
    "ioredis, iovalkey, node-redis, Bun",
    "ioredis",
    "ioredis",
    "ioredis, node-redis, GLIDE",
    "its own",
  ],
  ["published", "**not yet**", "beta only", "yes", "yes", "yes"],
  [
    "servers",
    "independent masters",
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
  ["maps, queues, latches", "**no**", "no", "no", "no", "yes"],
];

/** Situations, and the rows of docs/conformance.md that show them. */
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
const begin = "<!-- comparison: written by `pnpm conformance --compare` -->\n\n";
const end = "\n<!-- end of the comparison -->";

type Mark = "conforms" | "**fails**" | "n/a";

interface Row {
  readonly number: number;
  readonly marks: readonly Mark[];
}

/** The table of `page`, which is docs/conformance.md. */
export function comparison(page: string): string {
  const rows = rowsOf(page);
  const unknown = rows.find(({ number }) => !situations.some(([, numbers]) => numbers.includes(number)));
  if (unknown) throw new Error(`row ${unknown.number} belongs to no situation of the comparison`);
  const measured = situations.map(([situation, numbers]) => {
    const cases = rows.filter(({ number }) => numbers.includes(number));
    return [
      situation,
      ...libraries.map((_, index) => verdict(cases.map(({ marks }) => marks[index]!))),
      "not run",
    ];
  });
  return table([["", ...columns], ...features, ...measured]);
}

function rowsOf(page: string): readonly Row[] {
  const [head = "", ...lines] = page.split("\n").filter((line) => line.startsWith("| "));
  const names = cellsOf(head).slice(2);
  const at = libraries.map((library) => names.indexOf(library));
  if (at.includes(-1)) throw new Error(`docs/conformance.md lacks one of ${libraries.join(", ")}`);
  return lines.flatMap((line) => {
    const [row, , ...marks] = cellsOf(line);
    return /^\d+$/.test(row!) ? { number: Number(row), marks: at.map((index) => marks[index] as Mark) } : [];
  });
}

function cellsOf(line: string): readonly string[] {
  return line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function verdict(marks: readonly Mark[]): string {
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

/** `readme` with the comparison of `page` in its place. */
export function withComparison(readme: string, page: string): string {
  const from = readme.indexOf(begin) + begin.length;
  const until = readme.indexOf(end);
  if (from < begin.length || until < from) throw new Error("README.md has no place for the comparison");
  return readme.slice(0, from) + comparison(page) + readme.slice(until);
}

export const readmeFile: string = join(repositoryRoot, "README.md");
export const conformanceFile: string = join(repositoryRoot, "docs/conformance.md");

export function writeComparison(): void {
  const [readme, page] = [readmeFile, conformanceFile].map((file) => readFileSync(file, "utf8"));
  writeFileSync(readmeFile, withComparison(readme!, page!));
  console.log("written to README.md");
}
