import type { Measurement } from "../measure/rounds.ts";
import { figure } from "./table.ts";

/** One quantity of the table whose title matches. */
interface Panel {
  readonly heading: string;
  readonly title: RegExp;
}

const quantity = "acquire+release a second";
const panels: readonly Panel[] = [
  { heading: "One at a time", title: /^One at a time, \d+ in a row/ },
  { heading: "64 at once", title: /^64 at once, distinct keys/ },
];

/** The contenders in the chart, in this order, with their labels. */
const drawn: ReadonlyMap<string, string> = new Map([
  ["ours", "Quorlock"],
  ["redlock", "redlock 5"],
  ["redis-semaphore", "redis-semaphore"],
  ["redlock-universal", "redlock-universal"],
  ["sesamecare", "sesamecare"],
  ["bare", "bare commands"],
  ["bare-pipelined", "bare, auto-pipelined"],
]);

// The docs show the chart at this width, so text is at least 14 px high.
const width = 800;
const margin = 20;
const nameWidth = 150;
const panelWidth = (width - 2 * margin - nameWidth) / panels.length;
const valueWidth = 70;
const barHeight = 20;
const pitch = 30;
const top = 112;

/** A bar chart of the main figures: a self-contained SVG that follows the reader's colour scheme. */
export function chartOf(about: string, measurements: readonly Measurement[]): string {
  const taken = panels.map(({ heading, title }) => ({
    heading,
    bars: measurements.filter((one) => one.quantity === quantity && title.test(one.title)),
  }));
  const names = [...drawn.keys()].filter((name) =>
    taken.some(({ bars }) => bars.some(({ contender }) => contender === name)),
  );
  const lineOf = (name: string): number => top + names.indexOf(name) * pitch;
  const labels = names.map(
    (name) =>
      `<text class="name" x="${margin + nameWidth - 10}" y="${lineOf(name) + 15}">${escaped(drawn.get(name)!)}</text>`,
  );
  const drawings = taken.map(({ heading, bars }, index) => {
    const x = margin + nameWidth + index * panelWidth;
    const shown = bars.filter(({ contender }) => names.includes(contender));
    const most = Math.max(...shown.map(({ median }) => finite(median)));
    const head = `<text class="label" x="${x}" y="${top - 16}">${escaped(heading)}</text>`;
    return [head, ...shown.map((bar) => drawnBar(bar, x, lineOf(bar.contender), most))].join("\n");
  });
  const height = top + names.length * pitch + margin;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="heading about">
<title id="heading">Locks acquired and released a second</title>
<desc id="about">${escaped(described(taken))}</desc>
<style>${style}</style>
<rect class="page" width="${width}" height="${height}" rx="10"/>
<text class="heading" x="${margin}" y="34">Locks acquired and released a second, over five masters</text>
<text class="muted" x="${margin}" y="57">Longer is better. ${escaped(about)}</text>
${[...labels, ...drawings].join("\n")}
</svg>
`;
}

function drawnBar({ contender, median }: Measurement, x: number, y: number, most: number): string {
  const value = finite(median);
  const length = Math.max(1, Math.round(((panelWidth - valueWidth) * value) / Math.max(most, 1)));
  return (
    `<rect class="bar ${contender}" x="${x}" y="${y}" width="${length}" height="${barHeight}" rx="3"/>` +
    `<text class="value" x="${x + length + 7}" y="${y + 15}">${textOf(median)}</text>`
  );
}

function finite(value: number): number {
  return Number.isFinite(value) ? value : 0;
}

function textOf(value: number): string {
  return Number.isFinite(value)
    ? Math.round(Number(value.toPrecision(3))).toLocaleString("en")
    : figure(value);
}

function described(taken: ReadonlyArray<{ heading: string; bars: readonly Measurement[] }>): string {
  return taken
    .map(({ heading, bars }) => {
      const values = bars
        .filter(({ contender }) => drawn.has(contender))
        .map(({ contender, median }) => `${drawn.get(contender)} ${textOf(median)}`);
      return `${heading}: ${values.join(", ")}`;
    })
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
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;font-size:14px;fill:#1b2330}
.page{fill:#ffffff}.heading{font-size:19px;font-weight:650}.muted{fill:#566171}
.label{font-size:15px;font-weight:650}.name{text-anchor:end}
.bar{fill:#8f9bab}.bar.ours{fill:#0f766e}.bar.bare,.bar.bare-pipelined{fill:#c9d0d9}
@media (prefers-color-scheme:dark){
text{fill:#e9ebee}.page{fill:#191d24}.muted{fill:#a4aebb}
.bar{fill:#6d7a8c}.bar.ours{fill:#2dbdab}.bar.bare,.bar.bare-pipelined{fill:#47515f}}
`;
