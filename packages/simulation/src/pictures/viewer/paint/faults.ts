import type { DrawnFault } from "../../picture.ts";
import { pointed, type Scene } from "../scene.ts";
import { f, fitted, path, rect, text, widthOf } from "../svg.ts";

/** Words of faults that are near to each other stand below each other. */
const levels = 2;
const levelHeight = 24;
/** The least that words may take before they are cut, however many faults follow; a tooltip has all of them. */
const least = 300;

/** Flags, each with the fault in words; the line beside the pole is its duration. */
export function paintFaults(scene: Scene): readonly string[] {
  const { picture, window, layout } = scene;
  const free = Array.from({ length: levels }, () => Number.NEGATIVE_INFINITY);
  const visible = picture.faults.filter(({ from, until }) => window.shows([from, until]));
  return visible.map((fault, index) => {
    const [left, right] = window.edges(fault.from, fault.until);
    const level = free.findIndex((x) => x <= left - 4);
    if (level < 0) return paintTick(scene, fault, left);
    const y = layout.faults.body + 8 + level * levelHeight;
    const full = widthOf(fault.words, 12.5);
    const after = Math.max(left, layout.gutter) + 14;
    // Up to the next one that may stand in the same line.
    const next = visible[index + levels];
    const clear = next ? window.edges(next.from, next.from)[0] - after - 8 : layout.width;
    const room = Math.min(Math.max(least, clear), layout.width - after);
    // At the right edge there may be more room before the pole.
    const isBefore = full > room && left - full - 8 > Math.max(free[level]!, layout.gutter);
    const begin = isBefore ? left - full - 8 : after;
    const words = isBefore ? fault.words : fitted(fault.words, 12.5, room);
    const end = Math.max(left + 14, begin + widthOf(words, 12.5) + 10);
    free[level] = end;
    return pointed(scene, { kind: "fault", it: fault }, [
      rect([Math.min(left, begin), y, end - Math.min(left, begin), levelHeight - 4], "reach"),
      rect([left, y, 1.5, levelHeight - 4], "edge"),
      path(`M${f(left)} ${y}l9 4.5l-9 4.5z`, "ink"),
      right > left + 2 ? rect([left, y + levelHeight - 5, right - left, 2], "line") : "",
      text(begin, y + 9, "words", words),
    ]);
  });
}

/** One that there is no room for between the others: no words, but to be pointed at. */
function paintTick(scene: Scene, fault: DrawnFault, x: number): string {
  const { top, height } = scene.layout.faults;
  return pointed(scene, { kind: "fault", it: fault }, [
    path(`M${f(x)} ${top + height - 7}l7 3.5l-7 3.5z`, "ink"),
  ]);
}
