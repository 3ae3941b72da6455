import type { Call, Hold, Key } from "../../picture.ts";
import { font, roomiest, roundBar } from "../canvas.ts";
import { holderColour } from "../palette.ts";
import type { Scene } from "../scene.ts";

/** The bars of the locks that each client observes as held. */
export function paintHolds(scene: Scene): void {
  const { picture, window } = scene;
  const lastPixel = picture.clients.map(() => Number.NEGATIVE_INFINITY);
  for (const hold of picture.holds) {
    if (!window.shows([hold.from, hold.until])) continue;
    const [left, right] = window.edges(hold.from, hold.until);
    // Hundreds within one pixel are one line.
    if (right <= (lastPixel[hold.client] ?? 0)) continue;
    lastPixel[hold.client] = Math.floor(right);
    paintHold(scene, hold, left, right);
  }
}

function paintHold(scene: Scene, hold: Hold, left: number, right: number): void {
  const { pen, window, layout, palette, targets, token, picture } = scene;
  const row = layout.clients[hold.client]!;
  const y = row.body + 14;
  const colour = holderColour(palette, hold.client);
  pen.globalAlpha = token >= 0 && token !== hold.token ? 0.45 : 1;
  // Not given up yet, whatever it believes.
  pen.strokeStyle = colour;
  pen.lineWidth = 1.25;
  roundBar(pen, [left + 0.5, y + 0.5, right - left - 1, layout.bar - 1]);
  pen.stroke();
  for (const [from, until] of hold.beliefs) {
    const [start, end] = window.edges(from, until);
    pen.fillStyle = colour;
    roundBar(pen, [start, y, end - start, layout.bar]);
    pen.fill();
  }
  targets.area({ kind: "hold", it: hold }, [left, y, right - left, layout.bar]);
  const begin = Math.max(left, layout.gutter);
  const names = hold.resources.map((index) => picture.resources[index]).join(" + ");
  pen.font = font(palette, 13, 600);
  pen.textAlign = "left";
  pen.fillStyle = palette.onHolder;
  const room = Math.min(right, layout.width) - begin - 18;
  const label = roomiest(pen, [`${names} · hold ${hold.number}`, names, `${hold.number}`], room);
  pen.fillText(label, begin + 9, y + layout.bar / 2 + 0.5);
  pen.globalAlpha = 1;
  paintWrites(scene, hold, y + layout.bar + 4);
}

/** A tick under the bar; one that the resource turned away is hollow and red. */
function paintWrites(scene: Scene, hold: Hold, y: number): void {
  const { pen, window, palette, targets } = scene;
  let last = Number.NEGATIVE_INFINITY;
  for (const write of hold.writes) {
    const x = window.x(write[0]);
    if (x < scene.layout.gutter - 5 || x > scene.layout.width + 5 || x - last < 4) continue;
    last = x;
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + 3.5, y + 6);
    pen.lineTo(x - 3.5, y + 6);
    pen.closePath();
    pen.lineWidth = 1.25;
    pen.fillStyle = holderColour(palette, hold.client);
    pen.strokeStyle = palette.danger;
    if (write[1]) pen.fill();
    else paintBounce(scene, x, y);
    targets.area({ kind: "write", it: hold, write }, [x - 4, y - 1, 8, 9]);
  }
}

/** It comes, and goes back: the resource has seen a larger fencing token. */
function paintBounce({ pen, palette, layout }: Scene, x: number, y: number): void {
  pen.stroke();
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x - 8, y + 3);
  pen.lineTo(x, y + 15);
  pen.lineTo(x + 12, y + 2);
  pen.moveTo(x + 11, y + 8);
  pen.lineTo(x + 12, y + 2);
  pen.lineTo(x + 6, y + 4);
  pen.stroke();
  pen.fillStyle = palette.danger;
  pen.font = font(palette, 11.5, 600);
  const text = "turned away: smaller fencing token";
  const isLeft = x + pen.measureText(text).width + 20 > layout.width;
  pen.textAlign = isLeft ? "right" : "left";
  pen.fillText(text, isLeft ? x - 12 : x + 18, y + 10);
  pen.textAlign = "left";
}

/** The calls of each client's code: a thin line above its locks. */
export function paintCalls(scene: Scene): void {
  const { picture, layout, window, pen, palette, targets } = scene;
  for (const [client, { calls }] of picture.clients.entries()) {
    const y = layout.clients[client]!.body + 9;
    let lastPixel = Number.NEGATIVE_INFINITY;
    for (const call of calls) {
      if (!window.shows([call[0], call[1]])) continue;
      const [left, right] = window.edges(call[0], call[1]);
      if (right <= lastPixel) continue;
      lastPixel = Math.floor(right);
      pen.fillStyle = palette.muted;
      pen.fillRect(left, y, Math.max(1, right - left), 1.5);
      if (right - left > 6) {
        pen.fillRect(left, y - 2, 1, 5.5);
        pen.fillRect(right - 1, y - 2, 1, 5.5);
      }
      targets.area({ kind: "call", it: call, client }, [left, y - 5, right - left, 9]);
      labelCall(scene, call, left, right, y);
    }
  }
}

function labelCall(
  { pen, palette, layout }: Scene,
  call: Call,
  left: number,
  right: number,
  y: number,
): void {
  const begin = Math.max(left, layout.gutter);
  const text = call[3] === "done" ? call[2] : `${call[2]}: ${call[3]}`;
  pen.font = font(palette, 11.5);
  const shown = roomiest(pen, [text, call[2]], Math.min(right, layout.width) - begin - 20);
  if (shown === "") return;
  const wide = pen.measureText(shown).width;
  pen.fillStyle = palette.ground;
  pen.fillRect(begin + 6, y - 4, wide + 8, 9);
  pen.fillStyle = palette.muted;
  pen.textAlign = "left";
  pen.fillText(shown, begin + 10, y + 0.5);
}

/** The keys on each master, in the colours of their owners, lighter. */
export function paintKeys(scene: Scene): void {
  const { picture, window } = scene;
  for (const [master, { keys }] of picture.masters.entries()) {
    const lastPixel = picture.resources.map(() => Number.NEGATIVE_INFINITY);
    for (const key of keys) {
      const [resource, , , from, until] = key;
      if (!window.shows([from, until])) continue;
      const [left, right] = window.edges(from, until);
      if (right <= (lastPixel[resource] ?? 0)) continue;
      lastPixel[resource] = Math.floor(right);
      paintKey(scene, key, master, [left, right]);
    }
  }
}

function paintKey(scene: Scene, key: Key, master: number, [left, right]: readonly [number, number]): void {
  const { pen, layout, palette, targets, token, picture } = scene;
  const [resource, client, itsToken, , , , end] = key;
  const y = layout.masters[master]!.body + 8 + resource * (layout.key + 3);
  const colour = client < 0 ? palette.muted : holderColour(palette, client);
  const isFocused = token === itsToken;
  pen.fillStyle = colour;
  pen.globalAlpha = token >= 0 && !isFocused ? 0.12 : isFocused ? 0.5 : 0.28;
  roundBar(pen, [left, y, right - left, layout.key], 3);
  pen.fill();
  pen.globalAlpha = token >= 0 && !isFocused ? 0.4 : 1;
  pen.fillRect(left, y, Math.min(2, Math.max(1, right - left)), layout.key);
  // Expired by its own clock, not deleted: open at the end.
  if (end === "expired" && right - left > 4) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.setLineDash([2, 2]);
    pen.beginPath();
    pen.moveTo(right - 0.75, y);
    pen.lineTo(right - 0.75, y + layout.key);
    pen.stroke();
    pen.setLineDash([]);
  }
  targets.area({ kind: "key", it: key, master }, [left, y, right - left, layout.key]);
  const begin = Math.max(left, layout.gutter);
  pen.font = font(palette, layout.key > 16 ? 12 : 11);
  pen.textAlign = "left";
  pen.fillStyle = palette.ink;
  const name = picture.resources[resource] ?? "";
  const room = Math.min(right, layout.width) - begin - 14;
  const label = roomiest(pen, client < 0 ? [name] : [`${name} · client-${client}`, name], room);
  pen.fillText(label, begin + 7, y + layout.key / 2 + 0.5);
  pen.globalAlpha = 1;
}
