import { expect, test } from "vitest";
import { type Goal, goalsTable, isFarOff, isMet } from "./goal.ts";
import { jsonOf, markdownOf, pictureOf, type Report } from "./report.ts";

const floor: Goal = { name: "rate", measured: 6, limit: 6, isFloor: true, unit: "x" };
const ceiling: Goal = { name: "requests", measured: 12, limit: 12, unit: "" };

test("a goal is met up to its limit, and far off beyond half or twice the limit", () => {
  expect([floor, { ...floor, measured: 5.9 }].map(isMet)).toEqual([true, false]);
  expect(
    [
      { ...floor, measured: 3 },
      { ...floor, measured: 2.9 },
    ].map(isFarOff),
  ).toEqual([false, true]);
  expect([ceiling, { ...ceiling, measured: 12.1 }].map(isMet)).toEqual([true, false]);
  expect(
    [
      { ...ceiling, measured: 24 },
      { ...ceiling, measured: 24.1 },
    ].map(isFarOff),
  ).toEqual([false, true]);
});

test("a goal without a measured value is not met, and far off", () => {
  expect(isMet({ ...floor, measured: Number.NaN })).toBe(false);
  expect(isFarOff({ ...floor, measured: Number.NaN })).toBe(true);
});

test("the table marks each goal as met or short", () => {
  const spread = { median: 5.9, low: 5, high: 7 };
  const { rows } = goalsTable([floor, { ...floor, measured: 5.9, spread }], "");
  expect(rows).toEqual([
    ["rate", "6", "", ">= 6", "x", "met"],
    ["rate", "5.90", "5.00..7.00", ">= 6", "x", "short"],
  ]);
});

const measurement = {
  title: "64 at once, distinct keys, N=5",
  quantity: "acquire+release a second",
  low: 100.04,
  high: 200,
  rounds: [100.04, 150, 200],
};

const report: Report = {
  date: "2026-01-02",
  machine: ["2 x <CPU> & more, 4 GiB"],
  goals: [{ name: "a | b", measured: 1.23456, limit: 2, unit: "x" }],
  sections: [
    {
      workload: "64-at-once",
      seconds: 1.5,
      tables: [{ title: "Title", columns: ["", "rate"], rows: [["ours", "150"]], notes: ["A note."] }],
      measurements: [
        { ...measurement, contender: "redlock", median: 75_006 },
        { ...measurement, contender: "ours", median: 150_012 },
        { ...measurement, contender: "sesamecare", median: Number.NaN, low: Number.NaN, high: Number.NaN },
        { ...measurement, contender: "bare-again", median: 1 },
      ],
    },
  ],
};

test("JSON: four significant digits, and null for values that are not finite", () => {
  const [redlock, , stalled] = (JSON.parse(jsonOf(report)) as Report).sections[0]!.measurements;
  expect(redlock).toMatchObject({ median: 75_010, low: 100, rounds: [100, 150, 200] });
  expect(stalled!.median).toBeNull();
});

test("chart: bars in proportion, ours first, numbers with three significant digits, markup escaped", () => {
  const svg = pictureOf(report);
  const widthOf = (contender: string): number =>
    Number(new RegExp(`class="bar ${contender}"[^>]* width="([\\d.]+)"`).exec(svg)?.[1]);
  expect(widthOf("ours")).toBeGreaterThan(100);
  expect(widthOf("ours") / widthOf("redlock")).toBeCloseTo(2, 1);
  expect(svg.indexOf(">Quorlock<")).toBeLessThan(svg.indexOf(">redlock 5<"));
  expect(svg).toContain(">150,000<");
  expect(svg).toContain("2 x &lt;CPU&gt; &amp; more, 2026-01-02");
  expect(svg).toContain("prefers-color-scheme:dark");
});

test("chart: a value that is not finite has no number, and contenders outside the list are not drawn", () => {
  const svg = pictureOf(report);
  expect(svg).toMatch(/class="bar sesamecare"[^>]* width="1"/);
  expect(svg).not.toContain("bar bare");
  expect(svg).not.toMatch(/NaN|undefined|null|Infinity/);
  expect(pictureOf({ ...report, sections: [] })).toContain("</svg>");
});

test("markdown: machine, goals and tables, with bars in cells escaped", () => {
  const text = markdownOf(report);
  expect(text).toContain("- 2 x \\<CPU\\> & more");
  expect(text).toContain("| a \\| b | 1.23 |  | \\<= 2 | x | met |");
  expect(text).toContain("1 of 1 met.");
  expect(text).toContain("| ours | 150 |");
  expect(text).toContain("A note.");
  expect(text).toContain("![");
});
