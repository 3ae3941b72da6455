import { DefaultMap } from "../../../default-map.ts";
import type { Message } from "../../picture.ts";
import { coloured, pointed, type Scene } from "../scene.ts";
import { f, fitted, path, rect, text } from "../svg.ts";

/** Pixels that a line needs for itself: with more in view, each is a grain in a column of grains. */
const spacePerLine = 9;
/** Limit on the messages of the object under the pointer. */
const maxOfFocus = 400;

/** Lines from client to master and back; zoomed out, only their number. */
export function paintMessages(scene: Scene): readonly string[] {
  const { picture, layout, focus, token } = scene;
  const visible = inTime(scene);
  const areLines = visible.length <= (layout.width - layout.gutter) / spacePerLine;
  const kind = visible.length < 60 ? "few" : "many";
  const own = visible.filter((message) => token >= 0 && message[8] === token).slice(0, maxOfFocus);
  const words = `${picture.messagesLeftOut.toLocaleString("en")} messages of attempts that failed are left out`;
  return [
    ...(areLines
      ? visible.map((message) => paintMessage(scene, message, kind))
      : paintDensity(scene, visible)),
    ...own.map((message) => paintMessage(scene, message, "own")),
    focus?.kind === "message" ? paintMessage(scene, focus.it, "the-one") : "",
    picture.messagesLeftOut > 0
      ? text(
          layout.width - 8,
          layout.wire.body + 10,
          "muted end",
          fitted(words, 12, layout.width - layout.gutter - 12),
        )
      : "",
  ];
}

/** Sent before the view ends, and over after it begins. */
function inTime({ picture: { messages }, window }: Scene): readonly Message[] {
  let [low, high] = [0, messages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((messages[middle]?.[2] ?? 0) <= window.until) low = middle + 1;
    else high = middle;
  }
  return messages
    .slice(0, low)
    .filter(([, , sent, ran, heard, lost]) => Math.max(sent, ran, heard, lost) >= window.from);
}

function paintMessage(scene: Scene, message: Message, kind: string): string {
  const { window, layout } = scene;
  const [client, master, sent, ran, heard, lost, , , token] = message;
  const top = layout.clients[client]!.body + 14 + layout.bar;
  const bottom = layout.masters[master]!.body + 6;
  const middle = (top + bottom) / 2;
  const [from, run] = [f(window.x(sent)), f(window.x(ran))];
  const missing = f(window.x(Math.max(sent, ran, lost)));
  const legs: Array<readonly [d: string, kind: string]> = [];
  if (ran < 0) legs.push([`M${from} ${top}L${missing} ${middle}`, "unsent"]);
  else legs.push([`M${from} ${top}L${run} ${bottom}`, "request"]);
  if (ran >= 0 && heard >= 0) legs.push([`M${run} ${bottom}L${f(window.x(heard))} ${top}`, "reply"]);
  else if (ran >= 0 && lost >= 0) legs.push([`M${run} ${bottom}L${missing} ${middle}`, "reply"]);
  // A cross where it went missing.
  const isMissing = ran < 0 || (heard < 0 && lost >= 0);
  const parts = [
    ...legs.flatMap(([d, leg]) => [path(d, leg), path(d, "reach")]),
    ran < 0 ? "" : path(`M${run} ${bottom}h0`, "ran"),
    isMissing ? path(`M${missing} ${middle}m-3.5 -3.5l7 7m0 -7l-7 7`, "missing") : "",
  ];
  const drawn = `<g class="message ${kind}">${pointed(scene, { kind: "message", it: message }, parts)}</g>`;
  return coloured(scene, client, kind === "the-one" ? scene.token : token, [drawn]);
}

/** Columns between clients and masters: the number of messages, and of those without a reply. */
function paintDensity({ window, layout }: Scene, visible: readonly Message[]): readonly string[] {
  const step = 4;
  const columns = new DefaultMap<number, { sent: number; unheard: number }>(() => ({ sent: 0, unheard: 0 }));
  for (const [, , sent, , heard] of visible) {
    if (sent < window.from) continue;
    const x = layout.gutter + Math.floor((window.x(sent) - layout.gutter) / step) * step;
    const column = columns.get(x);
    column.sent += 1;
    if (heard < 0) column.unheard += 1;
  }
  const most = [...columns.values()].reduce((max, { sent }) => Math.max(max, sent), 1);
  const bottom = layout.wire.top + layout.wire.height - 4;
  const room = layout.wire.top + layout.wire.height - layout.wire.body - 12;
  const column = (x: number, count: number, kind: string): string =>
    rect([x, bottom - (count / most) * room, step - 1, (count / most) * room], kind);
  return [...columns].flatMap(([x, { sent, unheard }]) => [
    column(x, sent, "grain"),
    column(x, unheard, "danger"),
  ]);
}
