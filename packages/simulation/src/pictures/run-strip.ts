import { escaped } from "./markup.ts";
import type { Picture } from "./picture.ts";

// One run as a static picture: the holder of the lock, the owner of the key on each master, the faults, and
// the time in which two clients hold the lock. The HTML timeline shows the rest.

const width = 800;
export const left = 96;
export const right: number = width - 24;
const top = 138;
export const row = 34;
export const bar = 18;
/** Free space before the first and after the last lease, as a share of the time drawn. */
const slack = 0.06;

/** Height of a line of the notes. */
const line = 19;

export interface StripCaption {
  readonly title: string;
  /** Draws it again. */
  readonly command: string;
}

/** The leases of the first resource that is held, as an SVG that needs nothing else. */
export function runStrip(picture: Picture, { title, command }: StripCaption): string {
  const { clients, masters, overlaps, faults } = picture;
  const resource = picture.holds[0]?.resources[0] ?? 0;
  const holds = picture.holds.filter(({ resources }) => resources.includes(resource));
  const last = Math.max(1, ...holds.map(({ until }) => until));
  const end = last * (1 + slack);
  const x = (at: number): number => left + (Math.min(Math.max(at, 0), end) / end) * (right - left);
  const mastersTop = top + clients.length * row + 14;
  const bottom = mastersTop + masters.length * row;
  const rows = [
    ...clients.map((_, index) => label(`client ${index}`, top + index * row)),
    ...masters.map((_, index) => label(`master ${letter(index)}`, mastersTop + index * row)),
  ];
  const leases = holds.flatMap(({ client, beliefs }) =>
    beliefs.map(([from, until]) => block(x(from), x(until), top + client * row, client, "holds the lock")),
  );
  const keys = masters.flatMap(({ keys }, index) =>
    keys
      .filter(([of, client, , from]) => of === resource && client >= 0 && from < last)
      .map(([, client, , from, until]) =>
        block(x(from), x(until), mastersTop + index * row, client, `key of client ${client}`),
      ),
  );
  const both = overlaps.filter((overlap) => overlap.resource === resource);
  const marks = both.map(({ from, until }) => {
    const box = `<rect class="both" x="${f(x(from))}" y="${top - 8}" width="${f(x(until) - x(from))}" height="${clients.length * row + 8}"/>`;
    return `${box}<text class="alarm" x="${f(x(from))}" y="${top - 14}">both hold the lock for ${ms(until - from)} ms</text>`;
  });
  const struck = faults.filter(({ from }) => from <= last);
  // Faults that are there from the beginning have no line: they are the setting.
  const moments = struck.filter(({ from }) => from > (holds[0]?.from ?? 0));
  const lines = moments.map(({ from }) => faultLine(x(from), top - 8, bottom));
  const notes = struck.flatMap((fault, index) => {
    const y = bottom + 54 + index * line;
    const text = `<text class="note" x="${left}" y="${y}">${ms(fault.from)} ms: ${escaped(named(fault.words))}</text>`;
    return moments.includes(fault) ? [faultLine(left - 10, y - 12, y + 4), text] : [text];
  });
  const height = bottom + 54 + struck.length * line + 26;
  const drawn = [...rows, ...marks, ...lines, ...leases, ...keys, ...axis(end, bottom, x), ...notes];
  const typed = `<text class="command" x="24" y="${height - 14}">${escaped(command)}</text>`;
  return page(title, facts(picture), height, [legend(clients.length), ...drawn, typed]);
}

/** An SVG that needs nothing else. */
export function page(title: string, facts: string, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="heading">
<title id="heading">${escaped(title)}</title>
<style>${style}</style>
<rect class="page" width="${width}" height="${height}" rx="10"/>
<text class="heading" x="24" y="36">${escaped(title)}</text>
<text class="facts" x="24" y="58">${escaped(facts)}</text>
${parts.join("\n")}
</svg>
`;
}

function facts({ masters, clients, ttl }: Picture): string {
  return `Simulated run: one lock, ${masters.length} masters, ${clients.length} clients, ttl ${ttl.toLocaleString("en")} ms`;
}

/** Above the rows: the meaning of each colour and shape. */
function legend(clients: number): string {
  const y = 76;
  const bars = Array.from({ length: Math.min(clients, 2) }, (_, index) => ({
    shape: `<rect class="client-${index}" width="26" height="14" rx="3"/>`,
    text: `client ${index}`,
  }));
  const entries = [
    ...bars,
    { shape: '<rect class="both" width="26" height="14"/>', text: "two holders at once" },
    { shape: faultLine(13, -1, 15), text: "fault" },
  ];
  return entries
    .map(({ shape, text }, index) => {
      const at = 24 + index * 112 + (index > bars.length ? 74 : 0);
      return meaning(at, y, shape, text);
    })
    .join("\n");
}

/** An entry of a legend. */
export function meaning(x: number, y: number, shape: string, text: string): string {
  return `<g transform="translate(${x} ${y})">${shape}<text class="note" x="34" y="12">${text}</text></g>`;
}

export function faultLine(x: number, from: number, until: number): string {
  return `<line class="fault" x1="${f(x)}" x2="${f(x)}" y1="${from}" y2="${until}"/>`;
}

export function letter(index: number): string {
  return String.fromCharCode(65 + index);
}

/** The words of a fault with the names of the picture: "masters 3, 4" are "masters D, E". */
export function named(words: string): string {
  return words
    .replaceAll(/\bmasters? ?(\d+(?:, \d+)*)/g, (list) =>
      list.replaceAll(/\d+/g, (digits) => letter(Number(digits))),
    )
    .replaceAll(/\bmaster-(\d+)/g, (_, digits: string) => `master ${letter(Number(digits))}`)
    .replaceAll(/\bclient-(\d+)/g, "client $1");
}

export function label(text: string, y: number): string {
  return `<text x="24" y="${y + bar - 4}">${text}</text>`;
}

function block(from: number, until: number, y: number, client: number, text: string): string {
  const wide = Math.max(2, until - from);
  const said = wide > 110 ? `<text class="on" x="${f(from + 8)}" y="${y + bar - 4}">${text}</text>` : "";
  return `<rect class="client-${client % 2}" x="${f(from)}" y="${y}" width="${f(wide)}" height="${bar}" rx="3"><title>${text}</title></rect>${said}`;
}

/** Marks every round number of ms, four to eight of them. */
export function axis(end: number, bottom: number, x: (at: number) => number, begin = 0): readonly string[] {
  const rough = (end - begin) / 6;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough)!;
  const ticks: string[] = [`<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`];
  for (let at = Math.ceil(begin / step) * step; at <= end; at += step) {
    ticks.push(`<text class="tick" x="${f(x(at))}" y="${bottom + 18}">${ms(at)} ms</text>`);
  }
  return ticks;
}

export function ms(us: number): string {
  return Math.round(us / 1000).toLocaleString("en");
}

export function f(number: number): string {
  return number.toFixed(1);
}

const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;font-size:14px;fill:#1b2330}
.page{fill:#ffffff}.heading{font-size:18px;font-weight:650}.tick{fill:#566171;text-anchor:middle;font-size:13px}
.note{font-size:13.5px}.facts{fill:#566171}.command{font-family:ui-monospace,Menlo,Consolas,"Liberation Mono",monospace;font-size:12.5px;fill:#566171}
.client-0{fill:#0f766e}.client-1{fill:#9a5b00}.on{fill:#ffffff;font-size:13px}
.axis{stroke:#566171}.fault{stroke:#b3202c;stroke-width:1.5;stroke-dasharray:5 4}
.both{fill:#b3202c;fill-opacity:.14;stroke:#b3202c;stroke-width:1.5}.alarm{fill:#b3202c;font-weight:650}
@media (prefers-color-scheme:dark){
text{fill:#e9ebee}.page{fill:#191d24}.tick,.command,.facts{fill:#a4aebb}.on{fill:#11151b}
.client-0{fill:#2dbdab}.client-1{fill:#e0a54a}.axis{stroke:#a4aebb}.fault,.both{stroke:#ff7b7b}.both{fill:#ff7b7b}.alarm{fill:#ff7b7b}}
`;
