import type { Plan } from "../plan/plan.ts";
import { counted, embeddedJson, escaped } from "./markup.ts";
import type { DrawnViolation, Picture } from "./picture.ts";
import { pictureOf } from "./picture-of.ts";
import type { Recording } from "./recording.ts";
import { ms } from "./run-strip.ts";
import { stage } from "./stage.ts";

export interface Caption {
  /** Default: "Seed N". */
  readonly title?: string;
  /** Runs it again. */
  readonly command: string;
}

/** The script and the style sheet of the page, bundled by `viewer()` in cli/. */
export interface Viewer {
  readonly script: string;
  readonly style: string;
}

/** A run as one HTML page that needs nothing else: it opens from a file, without a network. */
export function timeline(recording: Recording, { title, command }: Caption, viewer: Viewer): string {
  const { plan, outcome } = recording;
  const picture = pictureOf(recording);
  const heading = title ?? `Seed ${plan.seed}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>${escaped(heading)}: ${outcome.verdict}</title>
<style>
${viewer.style}</style>
</head>
<body>
<header>
<p class="eyebrow">Quorlock, simulated run</p>
<h1>${escaped(heading)} <span class="verdict ${outcome.verdict}">${outcome.verdict}</span></h1>
<p class="facts">${escaped(facts(plan, picture))}</p>
<div class="replay"><code id="command">${escaped(command)}</code><button type="button" id="copy">Copy</button>
<span class="hash">seed ${plan.seed}, hash <code>${outcome.hash}</code></span></div>
${violationList(picture.violations)}</header>
<main class="stage">
${stage(picture.violations.length)}
</main>
<script type="application/json" id="picture">${embeddedJson(picture)}</script>
<script>
${viewer.script}</script>
</body>
</html>
`;
}

function facts({ masters, clients, settings }: Plan, { until, activeUntil, faults }: Picture): string {
  return [
    counted(masters.length, "master"),
    counted(clients.length, "client"),
    `ttl ${settings.ttl.toLocaleString("en")} ms`,
    `drift factor ${settings.driftFactor * 100} %`,
    counted(faults.length, "fault"),
    `active for ${ms(activeUntil)} ms, then calm for ${ms(until - activeUntil)} ms`,
  ].join("  ·  ");
}

/** Number of entries that are visible at once. */
const shownAtOnce = 4;
const maxListed = 100;

function violationList(violations: readonly DrawnViolation[]): string {
  if (violations.length === 0) return "";
  const items = alike(violations).slice(0, maxListed).map(violationItem);
  const rest = items.slice(shownAtOnce);
  const more = `<details><summary>${rest.length} more</summary><ol>${rest.join("\n")}</ol></details>\n`;
  return `<section class="violations" aria-label="Violations">
<h2>${counted(violations.length, "violation")}</h2>
<ol>${items.slice(0, shownAtOnce).join("\n")}</ol>
${rest.length > 0 ? more : ""}</section>
`;
}

interface Group {
  readonly index: number;
  readonly first: DrawnViolation;
  times: number;
}

/** Those that differ only in their numbers are one line of the list, the first of them. */
function alike(violations: readonly DrawnViolation[]): readonly Group[] {
  const groups = new Map<string, Group>();
  for (const [index, first] of violations.entries()) {
    const name = `${first.kind} ${first.detail.replaceAll(/\d+\.\d+/g, "")}`;
    const group = groups.get(name) ?? { index, first, times: 0 };
    group.times += 1;
    groups.set(name, group);
  }
  return [...groups.values()];
}

function violationItem({ index, first: { kind, at, detail }, times }: Group): string {
  const time = (at / 1000).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
  const again = times > 1 ? ` <i>and ${(times - 1).toLocaleString("en")} more like it</i>` : "";
  return (
    `<li><button type="button" data-violation="${index}"><time>${time} ms</time>` +
    `<b>${escaped(kind)}</b><span>${escaped(detail)}${again}</span></button></li>`
  );
}
