import type { ClientTrack, ClockStretch, MasterTrack } from "../../picture.ts";
import { namesOf } from "../../telling.ts";
import type { Row } from "../layout.ts";
import { offset, rate } from "../numbers.ts";
import { coloured, inView, pointed, type Scene } from "../scene.ts";
import { f, fitted, hatch, path, rect, text, widthOf } from "../svg.ts";

type Track = ClientTrack | MasterTrack;

/** Lines between tracks, clocks and standstills: what bars are laid upon. */
export function paintTracks(scene: Scene): readonly string[] {
  const { picture, layout } = scene;
  const tracks: readonly Track[] = [...picture.clients, ...picture.masters];
  const rows = [...layout.clients, ...layout.masters];
  const most = maxDrift(tracks, picture.activeUntil);
  const divided = [...rows, layout.faults, layout.wire, layout.margins].filter(({ height }) => height > 0);
  return [
    ...divided.map(({ top }) => rect([0, top, layout.width, 1], "line")),
    ...tracks.flatMap((track, index) => [
      ...paintPauses(scene, rows[index]!, track),
      ...paintClock(scene, rows[index]!, track.clock, most),
    ]),
  ];
}

/** After everything else: nothing that moves lies over them. */
export function paintNames(scene: Scene): readonly string[] {
  const { picture, layout } = scene;
  const under = layout.axis.height;
  return [
    layout.gutter > 0 ? rect([0, under, layout.gutter, layout.height - under], "ground") : "",
    ...(layout.faults.height > 0 ? name(scene, layout.faults, "Faults") : []),
    ...name(scene, layout.wire, "Messages"),
    ...name(scene, layout.margins, "Margin", "time to spare"),
    ...picture.clients.flatMap((track, index) => {
      const row = layout.clients[index]!;
      const y = layout.gutter > 0 ? row.top + 17 : row.top + 7;
      return [
        ...name(scene, row, track.name, clockText(scene, track)),
        coloured({ ...scene, token: -1 }, index, -1, [rect([0, y, 10, 13], "believed")]),
      ];
    }),
    ...picture.masters.flatMap((track, index) =>
      name(scene, layout.masters[index]!, `${track.name} · ${namesOf([index])}`, clockText(scene, track)),
    ),
  ];
}

function name({ layout }: Scene, { top }: Row, words: string, second = ""): readonly string[] {
  const beside = layout.gutter > 0;
  const left = beside ? 18 : 16;
  const y = beside ? top + 24 : top + 13;
  const after = beside ? left : left + widthOf(words, 14) + 10;
  const room = (beside ? layout.gutter : layout.width) - after - 6;
  return [text(left, y, "name", words), text(after, beside ? y + 18 : y, "muted", fitted(second, 12, room))];
}

/** The offset of its wall clock at the pointer, or at the start of the view. */
function clockText({ moment, window }: Scene, { clock }: Track): string {
  const time = moment ?? window.from;
  const stretch = clock.findLast(([from]) => from <= time) ?? clock[0];
  if (!stretch) return "";
  const rateText = stretch[4] === 0 ? "" : ` · ${rate(stretch[4])}`;
  return `clock ${offset(offsetAt(stretch, time))}${rateText}`;
}

function offsetAt([from, until, offset, offsetThen]: ClockStretch, time: number): number {
  if (until <= from) return offset;
  return offset + ((offsetThen - offset) * (Math.min(time, until) - from)) / (until - from);
}

const standstills = { frozen: "loose", suspended: "dense", down: "crossed", ended: "crossed" } as const;

function paintPauses(scene: Scene, row: Row, track: Track): readonly string[] {
  const { window, layout } = scene;
  return inView(window, track.pauses, ([from, until]) => [from, until]).map(([pause, left, right]) => {
    const [, , how] = pause;
    const box = [left, row.body + 1, Math.max(1, right - left), row.top + row.height - row.body - 1] as const;
    const begin = Math.max(left, layout.gutter) + 6;
    return pointed(scene, { kind: "pause", it: pause, name: track.name }, [
      rect(box, "faint"),
      hatch(box, standstills[how]),
      text(begin, row.top + row.height - 21, "muted small", fitted(how, 11.5, right - begin - 6)),
    ]);
  });
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
function paintClock(
  { window, layout }: Scene,
  row: Row,
  clock: readonly ClockStretch[],
  maxDrift: number,
): readonly string[] {
  const middle = row.top + row.height - layout.strip / 2 - 3;
  const start = clock[0]?.[2] ?? 0;
  const place = (stretch: ClockStretch, time: number): string =>
    `${f(window.x(time))} ${f(middle - ((offsetAt(stretch, time) - start) / maxDrift) * (layout.strip / 2))}`;
  const visible = clock.filter(([from, until]) => window.shows([from, until]));
  const points = visible.flatMap((stretch) => [
    place(stretch, Math.max(stretch[0], window.from)),
    place(stretch, Math.min(stretch[1], window.until)),
  ]);
  const changes = clock.slice(1).map((stretch, index) => {
    const before = clock[index]!;
    const x = window.x(stretch[0]);
    const step = stretch[2] - before[3];
    const words = [
      Math.abs(step) > 0.001 ? offset(step) : "",
      stretch[4] === before[4] ? "" : rate(stretch[4]),
    ];
    const isInView = x >= layout.gutter && x <= layout.width;
    return isInView ? text(x + 4, middle - 4, "muted small", words.filter(Boolean).join(", ")) : "";
  });
  return [
    path(`M${layout.gutter} ${middle}H${layout.width}`, "true-time"),
    points.length > 0 ? path(`M${points.join("L")}`, "clock") : "",
    ...changes,
  ];
}
