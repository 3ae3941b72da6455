import type { Hold } from "../../picture.ts";
import { font } from "../canvas.ts";
import { ms } from "../numbers.ts";
import { holderColour } from "../palette.ts";
import type { Scene } from "../scene.ts";

/**
 * For each lease, between checks: the time for which its keys exclude others beyond its own deadline. Below zero,
 * others can win while the holder still observes the lock as held.
 */
export function paintMargins(scene: Scene): void {
  const { pen, picture, window, layout, palette } = scene;
  const visible = picture.holds.filter((hold) => window.shows([hold.from, hold.until]));
  const values = visible.flatMap(({ margins }) => margins.map(([, margin]) => margin));
  const [least, most] = range(values, picture.ttl * 1000);
  const { body, top, height } = layout.margins;
  const [ceiling, floor] = [body + 14, top + height - 14];
  const y = (margin: number): number =>
    floor - ((Math.min(Math.max(margin, least), most) - least) / (most - least)) * (floor - ceiling);
  const zero = Math.round(y(0)) + 0.5;
  pen.fillStyle = palette.faint;
  pen.fillRect(layout.gutter, zero, layout.width - layout.gutter, floor - zero + 6);
  pen.strokeStyle = palette.muted;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(layout.gutter, zero);
  pen.lineTo(layout.width, zero);
  pen.stroke();
  for (const hold of visible) paintSteps(scene, hold, y, zero);
  const lowest = values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
  pen.font = font(palette, 12);
  pen.textAlign = "left";
  pen.fillStyle = palette.muted;
  pen.fillText("0", layout.gutter + 4, zero - 8);
  if (!Number.isFinite(lowest)) return;
  pen.fillStyle = lowest < 0 ? palette.danger : palette.muted;
  pen.font = font(palette, 12, 600);
  pen.textAlign = "right";
  const words = lowest < 0 ? "others can win before the deadline: " : "least in view ";
  pen.fillText(`${words}${ms(lowest, 1).replace("-", "−")}`, layout.width - 8, body + 9);
}

/** Around zero; one lock with a very large margin does not flatten the others. */
function range(values: readonly number[], ttl: number): readonly [number, number] {
  const most = values.reduce((high, value) => Math.max(high, value), 0);
  const least = values.reduce((low, value) => Math.min(low, value), 0);
  const span = Math.max(1, -least, Math.min(most, ttl / 4));
  return [Math.min(Math.max(least, -span), -span / 4), Math.max(Math.min(most, span), span / 4)];
}

function paintSteps(
  { pen, window, palette }: Scene,
  hold: Hold,
  y: (margin: number) => number,
  zero: number,
): void {
  for (const [index, [at, margin]] of hold.margins.entries()) {
    const until = hold.margins[index + 1]?.[0] ?? hold.until;
    if (!window.shows([at, until])) continue;
    const [left, right] = window.edges(at, until);
    const level = y(margin);
    const wide = Math.max(1, right - left);
    if (margin < 0) {
      pen.fillStyle = palette.dangerBand;
      pen.fillRect(left, zero, wide, level - zero);
    }
    pen.fillStyle = margin < 0 ? palette.danger : holderColour(palette, hold.client);
    pen.fillRect(left, level - 1, wide, 2);
  }
}
