import { ms } from "../numbers.ts";
import { inView, pointed, type Scene } from "../scene.ts";
import { f, path, rect, text, widthOf } from "../svg.ts";

/** The red band: two holders of one resource at once. Behind the tracks, and stronger around the two bars. */
export function paintOverlapBands(scene: Scene): readonly string[] {
  const { picture, window, layout } = scene;
  const top = layout.axis.height - 6;
  return inView(window, picture.overlaps, ({ from, until }) => [from, until]).map(
    ([overlap, left, right]) => {
      const wide = Math.max(2, right - left);
      const edges = `M${f(left)} ${top}V${layout.height}m${f(wide)} 0V${top}`;
      return pointed(scene, { kind: "overlap", it: overlap }, [
        rect([left, top, wide, layout.height - top], "band"),
        path(edges, "band-edge"),
      ]);
    },
  );
}

/** Around the bars of the two, and a word where there is room for one. */
export function paintOverlapFrames({ picture, window, layout }: Scene): readonly string[] {
  let free = Number.NEGATIVE_INFINITY;
  const visible = inView(window, picture.overlaps, ({ from, until }) => [from, until]);
  return visible.flatMap(([{ from, until, holds, resource }, left, right]) => {
    const frames = holds.map((index) => {
      const row = layout.clients[picture.holds[index]?.client ?? 0]!;
      return rect([left, row.body + 12.5, Math.max(2, right - left), layout.bar + 3], "frame");
    });
    const words = `two holders of ${picture.resources[resource]} for ${ms(until - from, 1)}`;
    const wide = widthOf(words, 12.5) + 16;
    const least = Math.max((left + right) / 2 - wide / 2, layout.gutter + 2);
    const begin = Math.min(least, layout.width - wide - 2);
    if (begin < free || wide > layout.width - layout.gutter) return frames;
    free = begin + wide + 6;
    const y = layout.wire.body + 3;
    return [
      ...frames,
      rect([begin, y, wide, 22], "flag danger"),
      text(begin + wide / 2, y + 11.5, "label tick", words),
    ];
  });
}

/** A diamond at the top for each violation; colour alone is not visible to everyone. */
export function paintViolations(scene: Scene): readonly string[] {
  const { picture, window, layout } = scene;
  return picture.violations.flatMap((it) => {
    const x = window.x(it.at);
    if (x < layout.gutter - 6 || x > layout.width + 6) return [];
    const diamond = path(`M${f(x)} ${layout.axis.height - 13}l7 7l-7 7l-7 -7z`, "danger");
    return [pointed(scene, { kind: "violation", it }, [diamond])];
  });
}
