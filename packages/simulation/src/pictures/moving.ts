import { escaped } from "./markup.ts";
import type { DrawnFault, Hold, Picture } from "./picture.ts";
import { namesOf } from "./telling.ts";

// A run as a picture that moves: animated by its style sheet alone, so that it plays wherever a picture can be shown.

const width = 800;
const height = 336;
/** Simulated time that passes in a second of the picture, us. */
const pace = 500_000;
/** The last moment stays, us of the run. */
const rest = 1_200_000;

/** A style from one moment to another, us. */
type Stretch = readonly [from: number, until: number, style: string];

interface Caption {
  readonly at: number;
  readonly text: string;
}

export interface MovingCaption {
  readonly title: string;
  /** Draws it again. */
  readonly command: string;
}

/** Masters, clients and what they sold, over the time of the run. */
export function movingPicture(picture: Picture, { title, command }: MovingCaption): string {
  const { clients, masters } = picture;
  const end = Math.max(...picture.holds.map(({ until }) => until)) + rest;
  const film = new Film(end);
  const lines = [
    ...clients.map((_, index) => clientBox(picture, film, index)),
    ...masters.map((_, index) => masterDisc(picture, film, index)),
    ...counter(picture, film),
    ...captions(picture, film, end),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="heading">`,
    `<title id="heading">${escaped(title)}</title>`,
    `<desc>Drawn by ${escaped(command)}</desc>`,
    `<style>\n${style}\n@media (prefers-reduced-motion:no-preference){\n${film.rules()}\n}\n</style>`,
    `<rect class="page" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="10"/>`,
    ...lines,
    "</svg>\n",
  ].join("\n");
}

const style = `text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Liberation Sans",Arial,sans-serif;font-size:14px;fill:#1b2330;text-anchor:middle}
svg{--idle:#f3f2ee}.page{fill:#fff;stroke:#d9dee5}.box{fill:var(--idle);stroke:#566171;stroke-width:1.5}.said{font-size:17px;font-weight:600}.small{font-size:12.5px;fill:#566171}
.on{fill:#fff;font-weight:600}.gone{opacity:0}.bar{fill:#e3e1db}.sold{fill:#14713d}
@media (prefers-color-scheme:dark){svg{--idle:#20252d}text{fill:#e9ebee}.page{fill:#191d24;stroke:#333b46}.box{stroke:#a4aebb}.small{fill:#a4aebb}
.on{fill:#11151b}.bar{fill:#2d333d}.sold{fill:#6fd69a}}`;
/** Of each client; they can be read on both grounds. */
const colours = ["#3f74d1", "#b3700f", "#128a7e"];

const idle = "fill:var(--idle)";

/** Collects the animations: each element that changes has a style for each stretch of time. */
class Film {
  readonly #end: number;
  readonly #rules: string[] = [];

  constructor(end: number) {
    this.#end = end;
  }

  /** The class of an element that has these styles in turn, and `base` at all other times. */
  play(stretches: readonly Stretch[], base: string): string {
    const name = `a${this.#rules.length}`;
    const frames = new Map<string, string>([["0%", base]]);
    const seen = stretches.filter(([from]) => from < this.#end);
    for (const [from, until, its] of seen) {
      frames.set(this.#percent(from), its);
      const after = this.#percent(until);
      if (!seen.some(([next]) => this.#percent(next) === after)) frames.set(after, base);
    }
    const steps = [...frames].map(([moment, its]) => `${moment}{${its}}`).join("");
    const seconds = (this.#end / pace).toFixed(1);
    this.#rules.push(`@keyframes ${name}{${steps}}.${name}{animation:${name} ${seconds}s step-end infinite}`);
    return name;
  }

  /** The same of one that is `on` in these spans. */
  during(spans: ReadonlyArray<Pick<DrawnFault, "from" | "until">>, on: string, base: string): string {
    return this.play(
      spans.map(({ from, until }) => [from, until, on]),
      base,
    );
  }

  /** The class of an element that is there in these spans. */
  show(spans: ReadonlyArray<Pick<DrawnFault, "from" | "until">>): string {
    return this.during(spans, "opacity:1", "opacity:0");
  }

  rules(): string {
    return this.#rules.join("\n");
  }

  #percent(at: number): string {
    return `${Number(((100 * Math.min(at, this.#end)) / this.#end).toFixed(2))}%`;
  }
}

function clientBox(picture: Picture, film: Film, index: number): string {
  const x = Math.round((width / picture.clients.length) * (index + 0.5));
  const own = picture.holds.filter(({ client }) => client === index);
  const fill = film.during(own, `fill:${colours[index]}`, idle);
  const holds = film.show(own);
  const named = film.during(own, "opacity:0", "opacity:1");
  const cuts = picture.faults.filter(
    ({ kind, words }) => kind === "cut" && words.includes(`client-${index}`),
  );
  const cut = film.show(cuts);
  return `<g><rect class="box ${fill}" x="${x - 95}" y="62" width="190" height="52" rx="8"/>
<text class="${named}" x="${x}" y="93">client ${index}</text><text class="on gone ${holds}" x="${x}" y="93">client ${index} holds the lock</text>
<text class="small gone ${cut}" x="${x}" y="134">cut off from all masters</text></g>`;
}

function masterDisc({ masters }: Picture, film: Film, index: number): string {
  const x = (width / masters.length) * (index + 0.5);
  const { keys, pauses } = masters[index]!;
  const fills = keys.map(
    ([, client, , from, until]): Stretch => [from, until, `fill:${colours[client] ?? "var(--idle)"}`],
  );
  const disc = film.play(fills, idle);
  const dead = film.show(pauses.map(([from, until]) => ({ from, until })));
  return `<g><circle class="box ${disc}" cx="${x}" cy="198" r="30"/>
<path class="gone ${dead}" d="M${x - 24} 174l48 48m0-48l-48 48" stroke="#c2232d" stroke-width="5"/>
<text class="small" x="${x}" y="248">master ${namesOf([index])}</text></g>`;
}

/** Each write is an item that is sold. */
function counter({ holds, violations }: Picture, film: Film): readonly string[] {
  const sales = holds
    .flatMap(({ writes }) => writes.filter(([, isAccepted]) => isAccepted).map(([at]) => at))
    .sort((a, b) => a - b);
  const [left, wide] = [180, width - 360];
  const grown = film.play(
    sales.map(
      (at, index): Stretch => [
        at,
        sales[index + 1] ?? Number.POSITIVE_INFINITY,
        `transform:scaleX(${((index + 1) / sales.length).toFixed(3)})`,
      ],
    ),
    "transform:scaleX(0)",
  );
  const wrong = violations.length === 0 ? "none oversold" : `${violations.length} violations`;
  return [
    `<rect class="bar" x="${left}" y="276" width="${wide}" height="12" rx="6"/>`,
    `<rect class="sold ${grown}" x="${left}" y="276" width="${wide}" height="12" rx="6" style="transform-origin:${left}px 0"/>`,
    `<text class="small" x="${width / 2}" y="312">${sales.length} items are sold, ${wrong}</text>`,
  ];
}

function captions(picture: Picture, film: Film, end: number): readonly string[] {
  const all = [
    ...picture.faults.flatMap(faultCaption),
    ...picture.holds.flatMap((hold, index) => holdCaptions(hold, index, picture)),
  ];
  const inOrder = [{ at: 0, text: "Three clients sell under one lock, on five masters" }, ...all].sort(
    (one, other) => one.at - other.at,
  );
  return inOrder.map(({ at, text }, index) => {
    const name = film.show([{ from: at, until: inOrder[index + 1]?.at ?? end }]);
    return `<text class="said ${index === 0 ? "" : "gone "}${name}" x="${width / 2}" y="38">${escaped(text)}</text>`;
  });
}

function faultCaption({ kind, from, words }: Picture["faults"][number]): readonly Caption[] {
  const [, master] = /master-(\d+)/.exec(words) ?? [];
  const [, client] = /client-(\d+)/.exec(words) ?? [];
  if (kind === "crash")
    return [{ at: from, text: `Master ${namesOf([Number(master)])} dies: four others are a majority` }];
  if (kind === "cut") return [{ at: from, text: `Client ${client}, the holder, is cut off` }];
  return [];
}

function holdCaptions(
  { client, from, until }: Hold,
  index: number,
  { holds, faults }: Picture,
): readonly Caption[] {
  const isCut = faults.some(
    ({ kind, from: cut, words }) =>
      kind === "cut" && words.includes(`client-${client}`) && cut > from && cut < until,
  );
  const gets = { at: from, text: `Client ${client} gets the lock${index === 0 ? "" : ", and sells on"}` };
  if (isCut) return [gets, { at: until, text: `Client ${client} is notified, and sells nothing more` }];
  return index === holds.length - 1 ? [gets, { at: until, text: "Each item is sold once" }] : [gets];
}
