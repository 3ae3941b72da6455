import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chartOf } from "./chart.ts";
import { markdownOf } from "./markdown.ts";
import { jsonOf, type Report } from "./report.ts";

const folder = new URL("../../../../docs/", import.meta.url);

/** Writes the report into the docs. What people see is made from the stored JSON, so that it can say nothing else. */
export function writeDocs(report: Report): void {
  const json = jsonOf(report);
  const stored = JSON.parse(json) as Report;
  for (const [extension, text] of [
    ["json", json],
    ["svg", chartOf(stored)],
    ["md", markdownOf(stored)],
  ] as const) {
    const path = fileURLToPath(new URL(`benchmark.${extension}`, folder));
    writeFileSync(path, text);
    console.log(`written: ${path}`);
  }
}
