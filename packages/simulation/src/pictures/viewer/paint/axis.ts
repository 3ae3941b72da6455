import { ms } from "../numbers.ts";
import type { Scene } from "../scene.ts";
import { f, path, rect, text, widthOf } from "../svg.ts";

/** Between two labels, px. */
const apart = 120;

/** True time, ms; its lines go down through all tracks. */
export function paintAxis({ window, layout, picture }: Scene): readonly string[] {
  const rough = window.scale * (layout.gutter === 0 ? 84 : apart);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const digits = Math.max(0, Math.ceil(3 - Math.log10(step)));
  const top = layout.axis.height - 6;
  const parts = [layout.gutter > 0 ? text(0, 19, "muted", "true time") : ""];
  for (let time = Math.ceil(window.from / step) * step; time <= window.until; time += step) {
    const x = Math.round(window.x(time));
    const label = ms(time, digits);
    const half = widthOf(label, 12.5) / 2;
    const isRoom = x - half >= layout.gutter && x + half <= layout.width;
    parts.push(rect([x, top, 1, layout.height - top], "line"), isRoom ? text(x, 19, "tick", label) : "");
  }
  const calm = window.x(picture.calmFrom);
  if (picture.calmFrom <= picture.until && calm >= layout.gutter && calm <= layout.width)
    parts.push(path(`M${f(calm)} ${top}V${layout.height}`, "calm"));
  return parts;
}

/** Where the pointer is. */
export function paintMoment({ window, layout, moment }: Scene): readonly string[] {
  const x = moment === undefined ? -1 : window.x(moment);
  if (moment === undefined || x < layout.gutter || x > layout.width) return [];
  const label = ms(moment);
  const wide = widthOf(label, 12.5) + 14;
  const left = Math.min(Math.max(x - wide / 2, layout.gutter), layout.width - wide);
  return [
    path(`M${f(x)} ${layout.axis.height - 8}V${layout.height}`, "moment"),
    rect([left, 8, wide, 22], "flag ink"),
    text(left + wide / 2, 19.5, "tick on-ink", label),
  ];
}

/** Over all that comes after the moment of the player. */
export function paintVeil({ window, layout }: Scene, at: number): readonly string[] {
  const x = Math.min(Math.max(window.x(at), layout.gutter), layout.width);
  const top = layout.axis.height - 6;
  return [
    rect([x, top, layout.width - x, layout.height - top], "veil"),
    rect([x - 1, top - 6, 2, layout.height - top + 6], "ink"),
    path(`M${f(x - 6)} ${top - 12}h12l-6 9z`, "ink"),
  ];
}
