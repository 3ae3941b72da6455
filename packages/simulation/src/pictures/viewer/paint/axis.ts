import { font } from "../canvas.ts";
import { ms } from "../numbers.ts";
import type { Scene } from "../scene.ts";

/** Between two labels, px. */
const apart = 120;

/** Round moments, a readable distance apart. */
function ticks({ window, layout }: Scene): { readonly times: number[]; readonly step: number } {
  const rough = window.scale * (layout.gutter === 0 ? 84 : apart);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough) ?? rough;
  const times: number[] = [];
  for (let time = Math.ceil(window.from / step) * step; time <= window.until; time += step) times.push(time);
  return { times, step };
}

/** True time, ms; its lines go down through all tracks. */
export function paintAxis(scene: Scene): void {
  const { pen, window, layout, palette, picture } = scene;
  const { times, step } = ticks(scene);
  const digits = Math.max(0, Math.ceil(3 - Math.log10(step)));
  pen.font = font(palette, 12.5);
  pen.textAlign = "center";
  for (const time of times) {
    const x = Math.round(window.x(time)) + 0.5;
    pen.fillStyle = palette.line;
    pen.fillRect(x - 0.5, layout.axis.height - 6, 1, layout.height - layout.axis.height + 6);
    pen.fillStyle = palette.muted;
    const text = ms(time, digits);
    const half = pen.measureText(text).width / 2;
    if (x - half >= layout.gutter && x + half <= layout.width) pen.fillText(text, x, 19);
  }
  if (layout.gutter > 0) {
    pen.textAlign = "left";
    pen.fillText("true time", 0, 19);
  }
  const calm = window.x(picture.calmFrom);
  if (picture.calmFrom > picture.until || calm < layout.gutter || calm > layout.width) return;
  pen.setLineDash([2, 5]);
  pen.lineWidth = 1;
  pen.strokeStyle = palette.muted;
  pen.beginPath();
  pen.moveTo(Math.round(calm) + 0.5, layout.axis.height - 6);
  pen.lineTo(Math.round(calm) + 0.5, layout.height);
  pen.stroke();
  pen.setLineDash([]);
}

/** Where the pointer is. */
export function paintMoment({ pen, window, layout, palette, moment }: Scene): void {
  if (moment === undefined) return;
  const x = Math.round(window.x(moment)) + 0.5;
  if (x < layout.gutter || x > layout.width) return;
  pen.strokeStyle = palette.muted;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(x, layout.axis.height - 8);
  pen.lineTo(x, layout.height);
  pen.stroke();
  pen.font = font(palette, 12.5, 600);
  const text = ms(moment);
  const wide = pen.measureText(text).width + 14;
  const left = Math.min(Math.max(x - wide / 2, layout.gutter), layout.width - wide);
  pen.fillStyle = palette.ink;
  pen.beginPath();
  pen.roundRect(left, 8, wide, 22, 5);
  pen.fill();
  pen.fillStyle = palette.ground;
  pen.textAlign = "center";
  pen.fillText(text, left + wide / 2, 19.5);
}

/** Over all that comes after the moment of the player. */
export function paintVeil({ pen, window, layout, palette }: Scene, at: number): void {
  const x = Math.min(Math.max(window.x(at), layout.gutter), layout.width);
  const top = layout.axis.height - 6;
  pen.globalAlpha = 0.86;
  pen.fillStyle = palette.ground;
  pen.fillRect(x, top, layout.width - x, layout.height - top);
  pen.globalAlpha = 1;
  pen.fillStyle = palette.ink;
  pen.fillRect(x - 1, top - 6, 2, layout.height - top + 6);
  pen.beginPath();
  pen.moveTo(x - 6, top - 12);
  pen.lineTo(x + 6, top - 12);
  pen.lineTo(x, top - 3);
  pen.closePath();
  pen.fill();
}
