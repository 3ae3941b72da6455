import type { Message } from "../../picture.ts";
import { fitted, font } from "../canvas.ts";
import { holderColour } from "../palette.ts";
import type { Scene } from "../scene.ts";

/** Pixels that a line needs for itself: with more in view, each is a grain in a column of grains. */
const spacePerLine = 9;
/** Limit on the messages of the object under the pointer. */
const maxOfFocus = 400;

/** Lines from client to master and back; zoomed out, only their number. */
export function paintMessages(scene: Scene): void {
  const { picture, focus, token } = scene;
  const visible = inView(scene);
  const areLines = visible.length <= (scene.layout.width - scene.layout.gutter) / spacePerLine;
  if (!areLines) paintDensity(scene, visible);
  const alpha = visible.length < 60 ? 0.75 : 0.45;
  if (areLines) for (const message of visible) paintMessage(scene, message, token >= 0 ? alpha / 4 : alpha);
  if (token >= 0) {
    const own = visible.filter((message) => message[8] === token).slice(0, maxOfFocus);
    for (const message of own) paintMessage(scene, message, 0.9);
  }
  if (focus?.kind === "message") paintMessage(scene, focus.it, 1, 2.25);
  if (picture.messagesLeftOut > 0) paintLeftOut(scene);
}

/** Sent before the view ends, and over after it begins. */
function inView({ picture: { messages }, window }: Scene): readonly Message[] {
  let [low, high] = [0, messages.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((messages[middle]?.[2] ?? 0) <= window.until) low = middle + 1;
    else high = middle;
  }
  return messages.slice(0, low).filter((message) => endOf(message) >= window.from);
}

function endOf([, , sent, ran, heard, lost]: Message): number {
  return Math.max(sent, ran, heard, lost);
}

function paintMessage(scene: Scene, message: Message, alpha: number, width = 1.25): void {
  const { pen, window, layout, palette, targets } = scene;
  const [client, master, sent, ran, heard, lost] = message;
  const top = layout.clients[client]!.body + 14 + layout.bar;
  const bottom = layout.masters[master]!.body + 6;
  pen.globalAlpha = alpha;
  pen.strokeStyle = holderColour(palette, client);
  pen.fillStyle = pen.strokeStyle;
  pen.lineWidth = width;
  const line = (fromX: number, fromY: number, toX: number, toY: number, dash: number[]): void => {
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(fromX, fromY);
    pen.lineTo(toX, toY);
    pen.stroke();
    pen.setLineDash([]);
    targets.line({ kind: "message", it: message }, [fromX, fromY, toX, toY]);
  };
  const [from, run] = [window.x(sent), window.x(ran)];
  if (ran < 0) paintLost(scene, [from, top, window.x(lost < 0 ? sent : lost), (top + bottom) / 2]);
  if (ran < 0) line(from, top, window.x(lost < 0 ? sent : lost), (top + bottom) / 2, [4, 4]);
  else {
    line(from, top, run, bottom, []);
    pen.beginPath();
    pen.arc(run, bottom, width + 1, 0, 2 * Math.PI);
    pen.fill();
    if (heard >= 0) line(run, bottom, window.x(heard), top, [1.5, 2.5]);
    else if (lost >= 0) {
      line(run, bottom, window.x(Math.max(lost, ran)), (top + bottom) / 2, [1.5, 2.5]);
      paintLost(scene, [run, bottom, window.x(Math.max(lost, ran)), (top + bottom) / 2]);
    }
  }
  pen.globalAlpha = 1;
}

/** A cross where it went missing. */
function paintLost({ pen, palette }: Scene, [, , x, y]: readonly [number, number, number, number]): void {
  const colour = pen.strokeStyle;
  pen.strokeStyle = palette.danger;
  pen.beginPath();
  pen.moveTo(x - 3.5, y - 3.5);
  pen.lineTo(x + 3.5, y + 3.5);
  pen.moveTo(x + 3.5, y - 3.5);
  pen.lineTo(x - 3.5, y + 3.5);
  pen.stroke();
  pen.strokeStyle = colour;
}

/** Columns between clients and masters: the number of messages, and of those without a reply. */
function paintDensity(scene: Scene, visible: readonly Message[]): void {
  const { pen, window, layout, palette } = scene;
  const step = 4;
  const columns = new Map<number, { sent: number; unheard: number }>();
  for (const [, , sent, , heard] of visible) {
    if (sent < window.from) continue;
    const x = layout.gutter + Math.floor((window.x(sent) - layout.gutter) / step) * step;
    const column = columns.get(x) ?? { sent: 0, unheard: 0 };
    column.sent += 1;
    if (heard < 0) column.unheard += 1;
    columns.set(x, column);
  }
  const most = [...columns.values()].reduce((max, { sent }) => Math.max(max, sent), 1);
  const bottom = layout.wire.top + layout.wire.height - 4;
  const room = layout.wire.top + layout.wire.height - layout.wire.body - 12;
  for (const [x, { sent, unheard }] of columns) {
    pen.fillStyle = palette.faintInk;
    pen.fillRect(x, bottom - (sent / most) * room, step - 1, (sent / most) * room);
    pen.fillStyle = palette.danger;
    pen.fillRect(x, bottom - (unheard / most) * room, step - 1, (unheard / most) * room);
  }
}

function paintLeftOut({ pen, layout, palette, picture }: Scene): void {
  pen.font = font(palette, 12);
  pen.fillStyle = palette.muted;
  pen.textAlign = "right";
  const text = `${picture.messagesLeftOut.toLocaleString("en")} messages of attempts that failed are left out`;
  pen.fillText(fitted(pen, text, layout.width - layout.gutter - 12), layout.width - 8, layout.wire.body + 10);
}
