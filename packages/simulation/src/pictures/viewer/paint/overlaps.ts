import { font } from "../canvas.ts";
import { ms } from "../numbers.ts";
import type { Scene } from "../scene.ts";

/** The red band: two holders of one resource at once. Behind the tracks, and stronger around the two bars. */
export function paintOverlapBands(scene: Scene): void {
  const { pen, picture, window, layout, palette, targets } = scene;
  for (const overlap of picture.overlaps) {
    if (!window.shows([overlap.from, overlap.until])) continue;
    const [left, right] = window.edges(overlap.from, overlap.until);
    const top = layout.axis.height - 6;
    const box = [left, top, Math.max(2, right - left), layout.height - top] as const;
    pen.fillStyle = palette.dangerBand;
    pen.fillRect(...box);
    pen.fillStyle = palette.danger;
    pen.fillRect(left, top, 1, box[3]);
    pen.fillRect(left + box[2] - 1, top, 1, box[3]);
    targets.area({ kind: "overlap", it: overlap }, box);
  }
}

/** Around the bars of the two, and a word where there is room for one. */
export function paintOverlapFrames(scene: Scene): void {
  const { pen, picture, window, layout, palette } = scene;
  let free = Number.NEGATIVE_INFINITY;
  for (const { from, until, holds, resource } of picture.overlaps) {
    if (!window.shows([from, until])) continue;
    const [left, right] = window.edges(from, until);
    pen.strokeStyle = palette.danger;
    pen.lineWidth = 2.5;
    for (const index of holds) {
      const row = layout.clients[picture.holds[index]?.client ?? 0]!;
      pen.strokeRect(left, row.body + 12.5, Math.max(2, right - left), layout.bar + 3);
    }
    const text = `two holders of ${picture.resources[resource]} for ${ms(until - from, 1)}`;
    pen.font = font(palette, 12.5, 600);
    const wide = pen.measureText(text).width + 16;
    const begin = Math.min(
      Math.max((left + right) / 2 - wide / 2, layout.gutter + 2),
      layout.width - wide - 2,
    );
    if (begin < free || wide > layout.width - layout.gutter) continue;
    free = begin + wide + 6;
    const y = layout.wire.body + 3;
    pen.fillStyle = palette.danger;
    pen.beginPath();
    pen.roundRect(begin, y, wide, 22, 5);
    pen.fill();
    pen.fillStyle = palette.onHolder;
    pen.textAlign = "left";
    pen.fillText(text, begin + 8, y + 11.5);
  }
}

/** A diamond at the top for each violation; colour alone is not visible to everyone. */
export function paintViolations({ pen, picture, window, layout, palette, targets }: Scene): void {
  for (const violation of picture.violations) {
    const x = window.x(violation.at);
    if (x < layout.gutter - 6 || x > layout.width + 6) continue;
    const y = layout.axis.height - 6;
    pen.fillStyle = palette.danger;
    pen.beginPath();
    pen.moveTo(x, y - 7);
    pen.lineTo(x + 7, y);
    pen.lineTo(x, y + 7);
    pen.lineTo(x - 7, y);
    pen.closePath();
    pen.fill();
    targets.area({ kind: "violation", it: violation }, [x - 8, y - 8, 16, 16]);
  }
}
