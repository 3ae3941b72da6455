// Draws terminal output as an SVG. The text stays text, so readers can select and search it, and the colours follow
// their choice of light or dark. Each span has a fixed column and width, because block characters are wider in some
// fonts than in others.

/** Width of a character, px: 0.6 of the font size of 13 px, as in nearly every monospaced font. */
const column = 7.8;
/** Height of a line, px. */
const row = 18;
const margin = 20;
const minWidth = 800;

const styles: Readonly<Record<number, string>> = {
  1: "bold",
  2: "dim",
  31: "red",
  32: "green",
  33: "yellow",
  36: "cyan",
};

const css = `text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace;font-size:13px;fill:#1b2330;white-space:pre}
.page{fill:#ffffff;stroke:#d9dee5}.bold{font-weight:650}.dim{fill:#5d6877}
.red{fill:#b3202c}.green{fill:#0f6b3a}.yellow{fill:#7a5200}.cyan{fill:#0b6077}
@media (prefers-color-scheme:dark){
text{fill:#e9ebee}.page{fill:#191d24;stroke:#333b46}.dim{fill:#a4aebb}
.red{fill:#ff7b7b}.green{fill:#5fd08f}.yellow{fill:#f0c060}.cyan{fill:#6cc7e0}}`;

interface Run {
  readonly style: string;
  readonly text: string;
  /** Where it begins, in characters. */
  readonly start: number;
}

/** `lines` may contain the colours of `Narrator`: one style at a time, each ended by a reset. */
export function terminalPicture(title: string, lines: readonly string[]): string {
  const rows = lines.map(runsOf);
  const widest = Math.max(0, ...rows.flat().map(({ start, text }) => start + text.length));
  const width = Math.max(minWidth, Math.ceil(widest * column + 2 * margin));
  const height = rows.length * row + 2 * margin;
  const texts = rows.flatMap((runs, at) => (runs.length > 0 ? textOf(runs, margin + (at + 0.75) * row) : []));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="heading">`,
    `<title id="heading">${escaped(title)}</title>`,
    `<style>\n${css}\n</style>`,
    `<rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>`,
    ...texts,
    "</svg>\n",
  ].join("\n");
}

function runsOf(line: string): readonly Run[] {
  const runs: Run[] = [];
  let start = 0;
  // Each part but the first begins with the number of its style and an "m".
  for (const [index, part] of line.split("\u001b[").entries()) {
    const end = index === 0 ? 0 : part.indexOf("m") + 1;
    const style = styles[Number.parseInt(part, 10)] ?? "";
    const text = part.slice(end);
    if (text !== "") runs.push({ style: index === 0 ? "" : style, text, start });
    start += text.length;
  }
  return runs;
}

function textOf(runs: readonly Run[], y: number): string {
  const spans = runs.map(({ style, text, start }) => {
    const x = (margin + start * column).toFixed(1);
    const length = (text.length * column).toFixed(1);
    const classes = style ? ` class="${style}"` : "";
    return `<tspan${classes} x="${x}" textLength="${length}">${escaped(text)}</tspan>`;
  });
  return `<text y="${y.toFixed(1)}">${spans.join("")}</text>`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
