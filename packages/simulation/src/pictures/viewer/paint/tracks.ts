import type { ClientTrack, ClockStretch, MasterTrack, Pause } from "../../picture.ts";
import { namesOf } from "../../telling.ts";
import { fitted, font, hatch } from "../canvas.ts";
import type { Row } from "../layout.ts";
import { offset, rate } from "../numbers.ts";
import { holderColour } from "../palette.ts";
import type { Scene } from "../scene.ts";

type Track = ClientTrack | MasterTrack;

/** Lines between tracks, names, clocks and standstills: what bars are laid upon. */
export function paintTracks(scene: Scene): void {
  const { picture, layout } = scene;
  const most = maxDrift([...picture.clients, ...picture.masters], picture.activeUntil);
  for (const [index, track] of picture.clients.entries())
    paintTrack(scene, layout.clients[index]!, track, most);
  for (const [index, track] of picture.masters.entries())
    paintTrack(scene, layout.masters[index]!, track, most);
  if (layout.faults.height > 0) divide(scene, layout.faults);
  divide(scene, layout.wire);
  divide(scene, layout.margins);
}

/** After everything else: nothing that moves lies over them. */
export function paintNames(scene: Scene): void {
  const { pen, picture, layout, palette } = scene;
  if (layout.gutter > 0) {
    pen.fillStyle = palette.ground;
    pen.fillRect(0, layout.axis.height, layout.gutter, layout.height - layout.axis.height);
  }
  if (layout.faults.height > 0) name(scene, layout.faults, "Faults");
  name(scene, layout.wire, "Messages");
  name(scene, layout.margins, "Margin", "time to spare");
  for (const [index, track] of picture.clients.entries()) {
    const row = layout.clients[index]!;
    name(scene, row, track.name, clockText(scene, track));
    swatch(scene, row, index);
  }
  for (const [index, track] of picture.masters.entries())
    name(scene, layout.masters[index]!, `${track.name} · ${namesOf([index])}`, clockText(scene, track));
}

function divide({ pen, layout, palette }: Scene, { top }: Row): void {
  pen.fillStyle = palette.line;
  pen.fillRect(0, top, layout.width, 1);
}

function name({ pen, layout, palette }: Scene, row: Row, text: string, second = ""): void {
  pen.textAlign = "left";
  const beside = layout.gutter > 0;
  pen.font = font(palette, 14, 600);
  pen.fillStyle = palette.ink;
  const left = beside ? 18 : 16;
  const y = beside ? row.top + 24 : row.top + 13;
  pen.fillText(text, left, y);
  const wide = pen.measureText(text).width;
  if (second === "") return;
  pen.font = font(palette, 12);
  pen.fillStyle = palette.muted;
  const room = beside ? layout.gutter - left - 14 : layout.width - left - wide - 16;
  pen.fillText(fitted(pen, second, room), beside ? left : left + wide + 10, beside ? y + 18 : y);
}

/** The colour of a client, beside its name. */
function swatch({ pen, layout, palette }: Scene, row: Row, client: number): void {
  pen.fillStyle = holderColour(palette, client);
  const y = layout.gutter > 0 ? row.top + 17 : row.top + 7;
  pen.beginPath();
  pen.roundRect(0, y, 10, 13, 3);
  pen.fill();
}

/** The offset of its wall clock at the pointer, or at the start of the view. */
function clockText({ moment, window }: Scene, { clock }: Track): string {
  const time = moment ?? window.from;
  const stretch = clock.findLast(([from]) => from <= time) ?? clock[0];
  if (!stretch) return "";
  const rateText = stretch[4] === 0 ? "" : ` · ${rate(stretch[4])}`;
  return `${offset(offsetAt(stretch, time))}${rateText}`;
}

function offsetAt([from, until, offset, offsetThen]: ClockStretch, time: number): number {
  if (until <= from) return offset;
  return offset + ((offsetThen - offset) * (Math.min(time, until) - from)) / (until - from);
}

function paintTrack(scene: Scene, row: Row, track: Track, maxDrift: number): void {
  divide(scene, row);
  for (const pause of track.pauses) paintPause(scene, row, track.name, pause);
  paintClock(scene, row, track.clock, maxDrift);
}

const standstills = { frozen: "loose", suspended: "dense", down: "crossed", ended: "crossed" } as const;

function paintPause(scene: Scene, row: Row, name: string, pause: Pause): void {
  const { pen, window, palette, targets } = scene;
  const [from, until, how] = pause;
  if (!window.shows([from, until])) return;
  const [left, right] = window.edges(from, until);
  const box = [left, row.body + 1, Math.max(1, right - left), row.top + row.height - row.body - 1] as const;
  pen.fillStyle = palette.faint;
  pen.fillRect(...box);
  pen.globalAlpha = 0.6;
  hatch(pen, box, palette.faintInk, standstills[how]);
  pen.globalAlpha = 1;
  targets.area({ kind: "pause", it: pause, name }, box);
  pen.font = font(palette, 11.5, 500);
  pen.textAlign = "left";
  pen.fillStyle = palette.muted;
  const room = right - Math.max(left, scene.layout.gutter) - 12;
  if (pen.measureText(how).width <= room)
    pen.fillText(how, Math.max(left, scene.layout.gutter) + 6, row.top + row.height - 21);
}

/** How far clocks come away from where they were at the beginning, ms; the same scale for all. */
function maxDrift(tracks: readonly Track[], end: number): number {
  const drifts = tracks.flatMap(({ clock }) => {
    const start = clock[0]?.[2] ?? 0;
    return clock.flatMap((stretch) => [
      Math.abs(stretch[2] - start),
      Math.abs(offsetAt(stretch, Math.max(stretch[0], end)) - start),
    ]);
  });
  return drifts.reduce((most, drift) => Math.max(most, drift), 1);
}

/** A thin line for the clock's rate (up is fast), with the size of each change. */
function paintClock(scene: Scene, row: Row, clock: readonly ClockStretch[], maxDrift: number): void {
  const { pen, window, palette, layout } = scene;
  const middle = row.top + row.height - layout.strip / 2 - 3;
  const start = clock[0]?.[2] ?? 0;
  const y = (offset: number): number => middle - ((offset - start) / maxDrift) * (layout.strip / 2);
  pen.lineWidth = 1;
  pen.strokeStyle = palette.line;
  pen.setLineDash([2, 4]);
  pen.beginPath();
  pen.moveTo(layout.gutter, middle);
  pen.lineTo(layout.width, middle);
  pen.stroke();
  pen.setLineDash([]);
  pen.strokeStyle = palette.faintInk;
  pen.lineWidth = 1.5;
  pen.beginPath();
  for (const [index, stretch] of clock.entries()) {
    if (!window.shows([stretch[0], stretch[1]])) continue;
    const from = Math.max(stretch[0], window.from);
    const until = Math.min(stretch[1], window.until);
    if (index === 0 || stretch[0] < window.from) pen.moveTo(window.x(from), y(offsetAt(stretch, from)));
    pen.lineTo(window.x(from), y(offsetAt(stretch, from)));
    pen.lineTo(window.x(until), y(offsetAt(stretch, until)));
  }
  pen.stroke();
  pen.font = font(palette, 11.5);
  pen.textAlign = "left";
  pen.fillStyle = palette.muted;
  for (const [index, stretch] of clock.entries()) {
    const before = clock[index - 1];
    const x = window.x(stretch[0]);
    if (!before || x < layout.gutter || x > layout.width) continue;
    const step = stretch[2] - before[3];
    const changes = [
      Math.abs(step) > 0.001 ? offset(step) : "",
      stretch[4] === before[4] ? "" : rate(stretch[4]),
    ];
    pen.fillText(changes.filter((text) => text !== "").join(", "), x + 4, middle - 4);
  }
}
