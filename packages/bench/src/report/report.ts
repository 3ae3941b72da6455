import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Measurement } from "../measure/rounds.ts";
import { chartOf } from "./chart.ts";
import { type Goal, goalsTable, isMet } from "./goal.ts";
import type { Table } from "./table.ts";

/** The results of a run: the source of all printed tables, docs and charts. */
export interface Report {
  /** ISO 8601 date, without time. */
  readonly date: string;
  /** The machine and all versions. */
  readonly machine: readonly string[];
  readonly sections: readonly Section[];
  readonly goals: readonly Goal[];
}

/** The results of one workload. */
export interface Section {
  readonly workload: string;
  readonly seconds: number;
  readonly tables: readonly Table[];
  readonly measurements: readonly Measurement[];
}

/** The report as Markdown. */
export function markdownOf(report: Report): string {
  const met = report.goals.filter(isMet).length;
  const goals = goalsTable(report.goals, `${met} of ${report.goals.length} met.`);
  const lines = [
    "# Benchmark",
    "",
    `Written by \`pnpm bench\`, ${report.date}.`,
    "Contenders take turns within one run, on the same masters; a ratio is the median of the ratios of rounds that were",
    "taken side by side. Bare is ioredis with the commands of a lock and nothing around them; *-pipelined* has ioredis's",
    "auto-pipelining on. 95 %: the true median lies there, of seven rounds and less from the least to the most. Wall-clock",
    "figures are this machine's; ratios transfer better than times, counts best.",
    "",
    ...report.machine.map((line) => `- ${escaped(line)}`),
    "",
    "![Locks acquired and released a second](benchmark.svg)",
    "",
    ...tableLines(goals),
    ...report.sections.flatMap((section) => section.tables.flatMap(tableLines)),
  ];
  return `${lines.join("\n").trimEnd()}\n`;
}

function tableLines(table: Table): readonly string[] {
  const rows = [
    table.columns,
    table.columns.map((_, column) => (column === 0 ? "---" : "--:")),
    ...table.rows.map((row) => row.map(escaped)),
  ];
  return [
    `## ${escaped(table.title)}`,
    "",
    ...(table.columns.length > 0 ? [...rows.map((row) => `| ${row.join(" | ")} |`), ""] : []),
    ...(table.notes ?? []).map(escaped),
    "",
  ];
}

function escaped(text: string): string {
  return text.replaceAll(/[|<>*_]/g, String.raw`\$&`);
}

const docs = new URL("../../../../docs/", import.meta.url);

/** Writes the report to the docs, and its numbers to the build folder, outside of version control. */
export function writeDocs(report: Report): void {
  for (const [name, text] of [
    ["benchmark.md", markdownOf(report)],
    ["benchmark.svg", pictureOf(report)],
    ["../packages/bench/dist/benchmark.json", jsonOf(report)],
  ] as const) {
    const path = fileURLToPath(new URL(name, docs));
    writeFileSync(path, text);
    console.log(`written: ${path}`);
  }
}

/** The main figures as an SVG, with the machine and the date. */
export function pictureOf({ machine, date, sections }: Report): string {
  const about = [machine[0]?.split(",")[0], date].join(", ");
  return chartOf(
    about,
    sections.flatMap(({ measurements }) => measurements),
  );
}

/** The report as JSON: numbers with four significant digits, null for failed or missing ones. */
export function jsonOf(report: Report): string {
  return `${JSON.stringify(report, (_, value: unknown) => shortened(value), 2)}\n`;
}

function shortened(value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : null;
}
