import type { Measurement } from "../measure/rounds.ts";
import type { Report } from "./report.ts";
import { figure } from "./table.ts";

/** One quantity, in each of the situations whose title matches; the first group of the match is its label. */
interface Panel {
  readonly heading: string;
  readonly better: "more" | "less";
  readonly quantity: string;
  readonly titles: RegExp;
}

const distinctKeys = /^(.*) at once, distinct keys/;
const hotKey = /^One hot key, (.*), N=/;

const panels: readonly Panel[] = [
  {
    heading: "Callers at once, distinct keys: a second",
    better: "more",
    quantity: "acquire+release a second",
    titles: distinctKeys,
  },
  {
    heading: "Callers at once: client CPU each, us",
    better: "less",
    quantity: "client CPU us",
    titles: distinctKeys,
  },
  { heading: "Hot key: grants a second", better: "more", quantity: "grants a second", titles: hotKey },
  { heading: "Hot key: wait, 99th percentile, ms", better: "less", quantity: "wait p99 ms", titles: hotKey },
  { heading: "Hot key: requests a grant", better: "less", quantity: "requests a grant", titles: hotKey },
  { heading: "Hot key: server CPU a grant, us", better: "less", quantity: "server CPU us", titles: hotKey },
];

const drawn = [
  "ours",
  "bare",
  "bare-pipelined",
  "redlock-pipelined",
  "redlock",
  "redis-semaphore",
  "redlock-universal",
];

const margin = 24;
const panelWidth = 464;
const panelGap = 28;
const nameWidth = 124;
const valueWidth = 66;
const barsWidth = panelWidth - nameWidth - valueWidth;
const barPitch = 17;
const barHeight = 12;
const groupHead = 24;
const panelHead = 44;
const top = 92;

interface Group {
  readonly label: string;
  readonly bars: readonly Measurement[];
}

/** The main figures as grouped bars: an SVG that needs nothing else and follows the reader's colour scheme. */
export function chartOf(report: Report): string {
  const measurements = report.sections.flatMap((section) => section.measurements);
  const filled = panels
    .map((panel) => ({ panel, groups: groupsOf(panel, measurements) }))
    .filter(({ groups }) => groups.length > 0);
  const columnHeights = [top, top];
  const drawings: string[] = [];
  for (const { panel, groups } of filled) {
    const column = columnHeights[0]! <= columnHeights[1]! ? 0 : 1;
    const x = margin + column * (panelWidth + panelGap);
    drawings.push(drawnPanel(panel, groups, x, columnHeights[column]!));
    columnHeights[column]! += heightOf(groups) + panelGap;
  }
  const width = 2 * (margin + panelWidth) + panelGap;
  const height = Math.max(...columnHeights);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="heading about">
<title id="heading">Benchmark of Redlock clients over Redis masters</title>
<desc id="about">${escaped(describedAs(filled))}</desc>
<style>${style}</style>
<rect class="page" width="${width}" height="${height}" rx="12"/>
<text class="heading" x="${margin}" y="38">Locks over five masters</text>
<text class="muted" x="${margin}" y="62">Medians of rounds taken in turn; the thin line is from the least to the most. ${escaped(report.date)}</text>
${drawings.join("\n")}
</svg>
`;
}

function groupsOf({ titles, quantity }: Panel, measurements: readonly Measurement[]): readonly Group[] {
  const groups = new Map<string, Measurement[]>();
  for (const measurement of measurements) {
    const label = titles.exec(measurement.title)?.[1];
    if (label === undefined || measurement.quantity !== quantity || !drawn.includes(measurement.contender))
      continue;
    groups.set(label, [...(groups.get(label) ?? []), measurement]);
  }
  return [...groups].map(([label, bars]) => ({ label, bars: bars.toSorted((a, b) => rank(a) - rank(b)) }));
}

function rank({ contender }: Measurement): number {
  return drawn.indexOf(contender);
}

function heightOf(groups: readonly Group[]): number {
  return groups.reduce((sum, { bars }) => sum + groupHead + bars.length * barPitch, panelHead);
}

function drawnPanel({ heading, better }: Panel, groups: readonly Group[], x: number, y: number): string {
  const most = Math.max(
    ...groups.flatMap(({ bars }) => bars.map(({ high, median }) => finite(high) ?? finite(median) ?? 0)),
  );
  const lengthOf = (value: number): number => (most > 0 ? (barsWidth * value) / most : 0);
  const parts = [
    `<text class="label" x="${x}" y="${y + 16}">${escaped(heading)}</text>`,
    `<text class="muted" x="${x}" y="${y + 34}">${better === "more" ? "longer is better" : "shorter is better"}</text>`,
  ];
  let line = y + panelHead;
  for (const { label, bars } of groups) {
    parts.push(`<text class="group" x="${x}" y="${line + 16}">${escaped(label)}</text>`);
    line += groupHead;
    for (const bar of bars) {
      parts.push(drawnBar(bar, x, line, lengthOf));
      line += barPitch;
    }
  }
  return parts.join("\n");
}

function drawnBar(bar: Measurement, x: number, y: number, lengthOf: (value: number) => number): string {
  const { contender, low, high } = bar;
  const middle = y + barHeight / 2;
  const start = x + nameWidth;
  const median = finite(bar.median);
  const name = `<text class="name" x="${start - 8}" y="${middle + 4}">${escaped(contender)}</text>`;
  if (median === undefined) {
    return `${name}<text class="value" x="${start + 4}" y="${middle + 4}">none granted</text>`;
  }
  const length = Math.max(1, lengthOf(median));
  const end = Math.max(length, lengthOf(finite(high) ?? median));
  const spread = `<path class="spread" d="M${place(start + lengthOf(finite(low) ?? median))} ${middle}H${place(start + end)}"/>`;
  return (
    `${name}<rect class="bar ${contender}" x="${start}" y="${y}" width="${place(length)}" height="${barHeight}" rx="2"/>` +
    `${spread}<text class="value" x="${place(start + end + 6)}" y="${middle + 4}">${figure(median)}</text>`
  );
}

function place(value: number): number {
  return Math.round(value * 10) / 10;
}

/** A stored number, or nothing where it was none. */
function finite(value: number | null): number | undefined {
  return value !== null && Number.isFinite(value) ? value : undefined;
}

function describedAs(filled: ReadonlyArray<{ panel: Panel; groups: readonly Group[] }>): string {
  return filled
    .flatMap(({ panel, groups }) =>
      groups.map(({ label, bars }) => {
        const values = bars.map(
          ({ contender, median }) => `${contender} ${figure(finite(median) ?? Number.NaN)}`,
        );
        return `${panel.heading}, ${label}: ${values.join(", ")}`;
      }),
    )
    .join("; ");
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;font-size:12px;fill:#1b2330}
.page{fill:#ffffff}.heading{font-size:23px;font-weight:650}.muted{fill:#566171;font-size:13px}
.label{font-size:15px;font-weight:650}.group{font-size:13px;font-weight:600}.name{text-anchor:end;fill:#3a4452}
.bar{fill:#8f9bab}.bar.ours{fill:#0f766e}.bar.bare,.bar.bare-pipelined{fill:#b9c1cc}
.spread{stroke:#1b2330;stroke-width:1.2;fill:none}
@media (prefers-color-scheme:dark){
text{fill:#e9ebee}.page{fill:#191d24}.muted{fill:#a4aebb}.name{fill:#c3cad4}
.bar{fill:#6d7a8c}.bar.ours{fill:#2dbdab}.bar.bare,.bar.bare-pipelined{fill:#47515f}.spread{stroke:#e9ebee}}
`;
