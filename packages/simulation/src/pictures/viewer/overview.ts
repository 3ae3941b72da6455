import type { Picture } from "../picture.ts";
import { group, rect } from "./svg.ts";
import type { TimeWindow } from "./time-window.ts";

const height = 46;

/** The whole run, small, with a frame around what is in view. */
export function paintOverview(picture: Picture, window: TimeWindow, width: number): string {
  const { clients, holds, violations, overlaps, faults, activeUntil } = picture;
  const x = (time: number): number => (time / activeUntil) * width;
  const line = Math.min(6, (height - 16) / clients.length);
  const [left, right] = [x(window.from), Math.min(x(window.until), width)];
  const wide = Math.max(4, right - left - 1.5);
  return [
    rect([0, 0, width, height], "faint"),
    ...overlaps.map(({ from, until }) => rect([x(from), 0, Math.max(2, x(until) - x(from)), height], "band")),
    ...holds.map(({ client, from, until }) =>
      group(`holder-${client % 6}`, [
        rect([x(from), 9 + client * line, Math.max(1, x(until) - x(from)), line - 1], "edge"),
      ]),
    ),
    ...faults.map(({ from }) => rect([x(from), height - 6, 1.5, 6], "edge")),
    ...violations.map(({ at }) => rect([x(at) - 1, 0, 2.5, 8], "danger")),
    rect([0, 0, left, height], "aside"),
    rect([right, 0, width - right, height], "aside"),
    rect([Math.min(left + 0.75, width - wide - 0.75), 0.75, wide, height - 1.5], "in-view"),
  ].join("");
}
