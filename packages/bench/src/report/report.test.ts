import { expect, test } from "vitest";
import { chartOf } from "./chart.ts";
import { markdownOf } from "./markdown.ts";
import { jsonOf, type Report, storedGoal } from "./report.ts";

const measurement = {
  title: "One hot key, 8 x 1, hold 5 ms, N=5",
  quantity: "grants a second",
  low: 100.04,
  high: 200,
  rounds: [100.04, 150, 200],
};

const report: Report = {
  date: "2026-01-02",
  machine: ["2 x <CPU> & more"],
  goals: [storedGoal({ name: "a | b", measured: 1.23456, limit: 2, unit: "x" })],
  sections: [
    {
      workload: "hot-key",
      seconds: 1.5,
      tables: [{ title: "Title", columns: ["", "rate"], rows: [["ours", "150"]], notes: ["A note."] }],
      measurements: [
        { ...measurement, contender: "ours", median: 150 },
        { ...measurement, contender: "redlock", median: 75, low: 50, high: 80 },
        {
          ...measurement,
          contender: "redlock-universal",
          median: Number.NaN,
          low: Number.NaN,
          high: Number.NaN,
        },
      ],
    },
  ],
};

const stored = JSON.parse(jsonOf(report)) as Report;

test("JSON: four figures, and null for what is no number", () => {
  const [ours, , stalled] = stored.sections[0]!.measurements;
  expect(ours).toMatchObject({ median: 150, low: 100, rounds: [100, 150, 200] });
  expect(stalled!.median).toBeNull();
  expect(stored.goals[0]).toMatchObject({ measured: 1.235, isMet: true });
});

test("chart: bars in proportion, ours first, a word for what has no number, markup escaped", () => {
  const svg = chartOf({ ...stored, date: "<&>" });
  const widthOf = (contender: string): number =>
    Number(new RegExp(`class="bar ${contender}"[^>]* width="([\\d.]+)"`).exec(svg)?.[1]);
  expect(widthOf("ours")).toBeGreaterThan(0);
  expect(widthOf("ours") / widthOf("redlock")).toBeCloseTo(2);
  expect(svg.indexOf(">ours<")).toBeLessThan(svg.indexOf(">redlock<"));
  expect(svg).toContain("none granted");
  expect(svg).toContain("&lt;&amp;&gt;");
  expect(svg).toContain("8 x 1, hold 5 ms");
  expect(svg).not.toMatch(/NaN|undefined|null|Infinity/);
  expect(svg).toContain("prefers-color-scheme:dark");
});

test("chart: a panel without numbers is left out, and so is what no panel asks for", () => {
  expect(chartOf(stored)).not.toContain("Callers at once");
  expect(chartOf({ ...stored, sections: [] })).toContain("</svg>");
});

test("markdown: machine, goals and tables, with bars in cells escaped", () => {
  const text = markdownOf(stored);
  expect(text).toContain("- 2 x \\<CPU\\> & more");
  expect(text).toContain("| a \\| b | 1.24 |  | \\<= 2 | x | met |");
  expect(text).toContain("| ours | 150 |");
  expect(text).toContain("A note.");
  expect(text).toContain("![");
});
