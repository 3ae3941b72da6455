import type { DriftCell, DriftGrid } from "./drift-grid.ts";
import { escaped } from "./markup.ts";

const cellWidth = 118;
const cellHeight = 74;
const gap = 4;
const left = 126;
const top = 132;
const below = 128;

/** Violation probability and least margin over drift and ttl, as an SVG that needs nothing else. */
export function heatMap(grid: DriftGrid, cells: readonly DriftCell[], command: string): string {
  const { drifts, ttls } = grid;
  const width = Math.max(left + drifts.length * (cellWidth + gap) + 24, 640);
  const height = top + ttls.length * (cellHeight + gap) + below;
  const bottom = top + ttls.length * (cellHeight + gap);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="heading about">
<title id="heading">When clocks drift apart: runs in which the lock was violated</title>
<desc id="about">${escaped(described(cells))}</desc>
<style>${style}</style>
<rect class="page" width="${width}" height="${height}" rx="12"/>
<text class="heading" x="24" y="38">When clocks drift apart</text>
<text class="muted" x="24" y="62">Share of ${grid.seeds} runs that were violated, and the least margin, ms. Drift factor ${grid.driftFactor * 100} %.</text>
<text class="axis" x="${left}" y="${top - 38}">Clock rates apart by</text>
${drifts.map((drift, column) => `<text class="label middle" x="${centre(column)}" y="${top - 12}">${drift} %</text>`).join("\n")}
<text class="axis" x="24" y="${top - 12}">ttl</text>
${ttls.map((ttl, row) => `<text class="label" x="24" y="${rowTop(row) + cellHeight / 2 + 5}">${ttl.toLocaleString("en")} ms</text>`).join("\n")}
${cells.map((cell) => drawnCell(cell, drifts.indexOf(cell.drift), ttls.indexOf(cell.ttl))).join("\n")}
${promise(grid, bottom)}
<text class="muted" x="24" y="${bottom + 62}">Margin: time from the end of a lock, by its holder’s clock, until another client can get it.</text>
<text class="muted" x="24" y="${bottom + 82}">Below zero, two clients can hold the lock at once.</text>
<text class="command" x="24" y="${bottom + 108}">${escaped(command)}</text>
</svg>
`;
}

function described(cells: readonly DriftCell[]): string {
  return cells
    .map(({ ttl, drift, violated, runs }) => `ttl ${ttl} ms, ${drift} %: ${violated} of ${runs} violated`)
    .join("; ");
}

function columnLeft(column: number): number {
  return left + column * (cellWidth + gap);
}

function centre(column: number): number {
  return columnLeft(column) + cellWidth / 2;
}

function rowTop(row: number): number {
  return top + row * (cellHeight + gap);
}

function drawnCell({ violated, runs, leastMargin }: DriftCell, column: number, row: number): string {
  const share = violated / runs;
  const [x, y] = [columnLeft(column), rowTop(row)];
  const kind = violated === 0 ? "safe" : "unsafe";
  // Paler or stronger, never so little that one violated run looks like none.
  const strength = violated === 0 ? 1 : 0.3 + 0.7 * share;
  const text = violated > 0 && strength > 0.62 ? "on-strong" : "on-pale";
  return `<rect class="${kind}" x="${x}" y="${y}" width="${cellWidth}" height="${cellHeight}" rx="6" fill-opacity="${strength.toFixed(2)}"/>
<text class="share middle ${text}" x="${centre(column)}" y="${y + 35}">${Math.round(100 * share)} %</text>
<text class="margin middle ${text}" x="${centre(column)}" y="${y + 57}">${marginText(leastMargin)} ms</text>`;
}

/** A line below the columns whose drift is within what the client allows for. */
function promise({ drifts, driftFactor }: DriftGrid, bottom: number): string {
  const within = drifts.filter((drift) => drift <= driftFactor * 100).length;
  const line = (from: number, until: number, text: string): string =>
    from >= until
      ? ""
      : `<path class="bracket" d="M${columnLeft(from)} ${bottom + 8}v6h${(until - from) * (cellWidth + gap) - gap}v-6"/>
<text class="axis middle" x="${(columnLeft(from) + columnLeft(until) - gap) / 2}" y="${bottom + 32}">${text}</text>`;
  return `${line(0, within, "promised: safe")}\n${line(within, drifts.length, "beyond the promise")}`;
}

function marginText(margin: number): string {
  if (!Number.isFinite(margin)) return "no";
  const digits = Math.abs(margin) < 10 ? 2 : Math.abs(margin) < 100 ? 1 : 0;
  return `${margin < 0 ? "−" : "+"}${Math.abs(margin).toFixed(digits)}`;
}

const style = `
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;font-size:15px;fill:#1b2330}
.page{fill:#ffffff}.heading{font-size:23px;font-weight:650}.muted{fill:#566171;font-size:14px}
.axis{fill:#566171;font-size:14px}.label{font-size:15px;font-weight:600}.middle{text-anchor:middle}
.share{font-size:21px;font-weight:650}.margin{font-size:13.5px}
.command{font-family:ui-monospace,Menlo,Consolas,"Liberation Mono",monospace;font-size:13px;fill:#566171}
.safe{fill:#d9ece6}.unsafe{fill:#b3202c}.on-strong{fill:#ffffff}.on-pale{fill:#1b2330}
.bracket{fill:none;stroke:#566171;stroke-width:1.5}
@media (prefers-color-scheme:dark){
text{fill:#e9ebee}.page{fill:#191d24}.muted,.axis,.command{fill:#a4aebb}
.safe{fill:#1f3d36}.unsafe{fill:#ff7b7b}.on-strong{fill:#11151b}.on-pale{fill:#e9ebee}.bracket{stroke:#a4aebb}}
`;
