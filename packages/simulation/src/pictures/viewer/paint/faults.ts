import type { DrawnFault } from "../../picture.ts";
import { fitted, font } from "../canvas.ts";
import type { Scene } from "../scene.ts";

/** Words of faults that are near to each other stand below each other. */
const levels = 2;
const levelHeight = 24;
/** Of words; a tooltip has all of them. */
const longest = 300;

/** Flags, each with the fault in words; the line beside the pole is its duration. */
export function paintFaults(scene: Scene): void {
  const { pen, picture, window, layout, palette, targets } = scene;
  if (layout.faults.height === 0) return;
  const free = Array.from({ length: levels }, () => Number.NEGATIVE_INFINITY);
  const visible = picture.faults.filter(({ from, until }) => window.shows([from, until]));
  pen.font = font(palette, 12.5);
  pen.textAlign = "left";
  for (const fault of visible) {
    const [left, right] = window.edges(fault.from, fault.until);
    const level = free.findIndex((x) => x <= left - 4);
    const y = layout.faults.body + 8 + Math.max(0, level) * levelHeight;
    if (level < 0) {
      paintTick(scene, fault, left);
      continue;
    }
    pen.fillStyle = palette.muted;
    pen.fillRect(left, y, 1.5, levelHeight - 4);
    pen.beginPath();
    pen.moveTo(left, y);
    pen.lineTo(left + 9, y + 4.5);
    pen.lineTo(left, y + 9);
    pen.closePath();
    pen.fillStyle = palette.ink;
    pen.fill();
    targets.area({ kind: "fault", it: fault }, [left - 3, y, 15, levelHeight - 4]);
    if (right > left + 2) {
      pen.fillStyle = palette.line;
      pen.fillRect(left, y + levelHeight - 5, right - left, 2);
    }
    pen.fillStyle = palette.ink;
    const full = pen.measureText(fault.words).width;
    const after = Math.max(left, layout.gutter) + 14;
    const room = Math.min(longest, layout.width - after);
    // At the right edge there may be more room before the pole.
    const isBefore = full > room && left - full - 8 > Math.max(free[level] ?? 0, layout.gutter);
    const begin = isBefore ? left - full - 8 : after;
    const text = isBefore ? fault.words : fitted(pen, fault.words, room);
    pen.fillText(text, begin, y + 9);
    const wide = pen.measureText(text).width;
    free[level] = Math.max(left + 14, begin + wide + 10);
    const from = Math.min(left - 3, begin);
    targets.area({ kind: "fault", it: fault }, [from, y, free[level] - from, levelHeight - 4]);
  }
}

/** One that there is no room for between the others: no words, but to be pointed at. */
function paintTick({ pen, layout, palette, targets }: Scene, fault: DrawnFault, x: number): void {
  const y = layout.faults.top + layout.faults.height - 7;
  pen.fillStyle = palette.ink;
  pen.beginPath();
  pen.moveTo(x, y);
  pen.lineTo(x + 7, y + 3.5);
  pen.lineTo(x, y + 7);
  pen.closePath();
  pen.fill();
  targets.area({ kind: "fault", it: fault }, [x - 2, y - 2, 11, 10]);
}
