import type { Hold } from "../../picture.ts";
import { ms } from "../numbers.ts";
import { coloured, type Scene } from "../scene.ts";
import { path, rect, text } from "../svg.ts";

/**
 * For each lease, between checks: the time for which its keys exclude others beyond its own deadline. Below zero,
 * others can win while the holder still observes the lock as held.
 */
export function paintMargins(scene: Scene): readonly string[] {
  const { picture, window, layout } = scene;
  const visible = picture.holds.filter((hold) => window.shows([hold.from, hold.until]));
  const values = visible.flatMap(({ margins }) => margins.map(([, margin]) => margin));
  const [least, most] = range(values, picture.ttl * 1000);
  const { body, top, height } = layout.margins;
  const [ceiling, floor] = [body + 14, top + height - 14];
  const y = (margin: number): number =>
    floor - ((Math.min(Math.max(margin, least), most) - least) / (most - least)) * (floor - ceiling);
  const zero = Math.round(y(0)) + 0.5;
  const lowest = values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY);
  const words = lowest < 0 ? "others can win before the deadline: " : "least in view ";
  const kind = `end ${lowest < 0 ? "alarm" : "muted strong"}`;
  return [
    rect([layout.gutter, zero, layout.width - layout.gutter, floor - zero + 6], "faint"),
    path(`M${layout.gutter} ${zero}H${layout.width}`, "moment"),
    ...visible.map((hold) => coloured(scene, hold.client, hold.token, paintSteps(scene, hold, y))),
    text(layout.gutter + 4, zero - 8, "muted", "0"),
    Number.isFinite(lowest)
      ? text(layout.width - 8, body + 9, kind, `${words}${ms(lowest, 1).replace("-", "−")}`)
      : "",
  ];
}

/** Around zero; one lock with a very large margin does not flatten the others. */
function range(values: readonly number[], ttl: number): readonly [number, number] {
  const most = values.reduce((high, value) => Math.max(high, value), 0);
  const least = values.reduce((low, value) => Math.min(low, value), 0);
  const span = Math.max(1, -least, Math.min(most, ttl / 4));
  return [Math.min(Math.max(least, -span), -span / 4), Math.max(Math.min(most, span), span / 4)];
}

function paintSteps({ window }: Scene, hold: Hold, y: (margin: number) => number): readonly string[] {
  return hold.margins.flatMap(([at, margin], index) => {
    const until = hold.margins[index + 1]?.[0] ?? hold.until;
    if (!window.shows([at, until])) return [];
    const [left, right] = window.edges(at, until);
    const [level, wide] = [y(margin), Math.max(1, right - left)];
    const step = rect([left, level - 1, wide, 2], margin < 0 ? "danger" : "edge");
    return margin < 0 ? [rect([left, y(0), wide, level - y(0)], "below"), step] : [step];
  });
}
