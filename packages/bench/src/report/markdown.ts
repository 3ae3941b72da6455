import { goalsTable } from "./goal.ts";
import type { Report } from "./report.ts";
import type { Table } from "./table.ts";

/** A report for people. */
export function markdownOf(report: Report): string {
  const met = report.goals.filter((goal) => goal.isMet).length;
  const goals = goalsTable(report.goals, `${met} of ${report.goals.length} met.`);
  const lines = [
    "# Benchmark",
    "",
    `Written by \`pnpm bench\`, ${report.date}. The numbers are in [benchmark.json](benchmark.json).`,
    "Contenders take turns within one run, on the same masters; a ratio is the median of the ratios of rounds that were",
    "taken side by side. Bare is ioredis with the commands of a lock and nothing around them; *-pipelined* has ioredis's",
    "auto-pipelining on. Wall-clock figures are this machine's; ratios travel further.",
    "",
    ...report.machine.map((line) => `- ${escaped(line)}`),
    "",
    "![Grouped bars of the main figures](benchmark.svg)",
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
