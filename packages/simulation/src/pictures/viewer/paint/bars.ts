import type { Call, Hold, Key } from "../../picture.ts";
import { coloured, inView, pointed, type Scene } from "../scene.ts";
import { type Box, f, path, rect, roomiest, text, widthOf } from "../svg.ts";

/** The bars of the locks that each client observes as held. */
export function paintHolds(scene: Scene): readonly string[] {
  const { picture, window } = scene;
  const visible = inView(
    window,
    picture.holds,
    ({ from, until }) => [from, until],
    ({ client }) => client,
  );
  return visible.map(([hold, left, right]) => paintHold(scene, hold, left, right));
}

function paintHold(scene: Scene, hold: Hold, left: number, right: number): string {
  const { window, layout, picture } = scene;
  const y = layout.clients[hold.client]!.body + 14;
  const begin = Math.max(left, layout.gutter);
  const names = hold.resources.map((index) => picture.resources[index]).join(" + ");
  const room = Math.min(right, layout.width) - begin - 18;
  const believed = hold.beliefs.map(([from, until]) => {
    const [start, end] = window.edges(from, until);
    return rect([start, y, Math.max(1, end - start), layout.bar], "believed");
  });
  const parts = [
    // Not given up yet, whatever it believes.
    rect([left, y, right - left, layout.bar], "held"),
    ...believed,
    text(
      begin + 9,
      y + layout.bar / 2,
      "label",
      roomiest([`${names} · hold ${hold.number}`, names, `${hold.number}`], 13, room),
    ),
  ];
  return coloured(scene, hold.client, hold.token, [
    pointed(scene, { kind: "hold", it: hold }, parts),
    ...paintWrites(scene, hold, y + layout.bar + 4),
  ]);
}

/** A tick under the bar; one that the resource turned away is hollow and red. */
function paintWrites(scene: Scene, hold: Hold, y: number): readonly string[] {
  const { layout, window } = scene;
  let last = Number.NEGATIVE_INFINITY;
  return hold.writes.flatMap((write) => {
    const x = window.x(write[0]);
    if (x < layout.gutter - 5 || x > layout.width + 5 || x - last < 4) return [];
    last = x;
    const tick = path(`M${f(x)} ${y}l3.5 6h-7z`, write[1] ? "write" : "refused");
    const parts = write[1] ? [tick] : [tick, ...paintBounce(scene, x, y)];
    return [pointed(scene, { kind: "write", it: hold, write }, parts)];
  });
}

/** It comes, and goes back: the resource has seen a larger fencing token. */
function paintBounce({ layout }: Scene, x: number, y: number): readonly string[] {
  const words = "turned away: smaller fencing token";
  const isLeft = x + widthOf(words, 11.5) + 20 > layout.width;
  return [
    path(`M${f(x - 8)} ${y + 3}l8 12l12 -13m-1 6l1 -6l-6 2`, "refused bounce"),
    text(isLeft ? x - 12 : x + 18, y + 10, isLeft ? "alarm end" : "alarm", words),
  ];
}

/** The calls of each client's code: a thin line above its locks. */
export function paintCalls(scene: Scene): readonly string[] {
  const { picture, layout, window } = scene;
  return picture.clients.flatMap(({ calls }, client) => {
    const y = layout.clients[client]!.body + 9;
    return inView(window, calls, ([from, until]) => [from, until]).map(([call, left, right]) => {
      const ends = right - left > 6 ? `M${f(left + 0.5)} ${y - 2}v5.5M${f(right - 0.5)} ${y - 2}v5.5` : "";
      return pointed(scene, { kind: "call", it: call, client }, [
        rect([left, y - 5, right - left, 9], "reach"),
        path(`M${f(left)} ${y + 0.7}H${f(Math.max(right, left + 1))}${ends}`, "call"),
        ...labelCall(scene, call, [left, y, right - left, 9]),
      ]);
    });
  });
}

function labelCall({ layout }: Scene, [, , name, how]: Call, [left, y, width]: Box): readonly string[] {
  const begin = Math.max(left, layout.gutter);
  const texts = [how === "done" ? name : `${name}: ${how}`, name];
  const words = roomiest(texts, 11.5, Math.min(left + width, layout.width) - begin - 20);
  if (words === "") return [];
  return [
    rect([begin + 6, y - 4, widthOf(words, 11.5) + 8, 9], "ground"),
    text(begin + 10, y + 0.5, "muted small", words),
  ];
}

/** The keys on each master, in the colours of their owners, lighter. */
export function paintKeys(scene: Scene): readonly string[] {
  return scene.picture.masters.flatMap(({ keys }, master) => {
    const visible = inView(
      scene.window,
      keys,
      ([, , , from, until]) => [from, until],
      ([resource]) => resource,
    );
    return visible.map(([key, left, right]) => paintKey(scene, key, master, left, right));
  });
}

function paintKey(scene: Scene, key: Key, master: number, left: number, right: number): string {
  const { layout, picture } = scene;
  const [resource, client, token, , , , end] = key;
  const y = layout.masters[master]!.body + 8 + resource * (layout.key + 3);
  const begin = Math.max(left, layout.gutter);
  const name = picture.resources[resource] ?? "";
  const names = client < 0 ? [name] : [`${name} · client-${client}`, name];
  const words = roomiest(names, 12, Math.min(right, layout.width) - begin - 14);
  // Expired by its own clock, not deleted: open at the end.
  const isOpen = end === "expired" && right - left > 4;
  const parts = [
    rect([left, y, Math.max(1, right - left), layout.key], "key"),
    rect([left, y, Math.min(2, Math.max(1, right - left)), layout.key], "edge"),
    isOpen ? path(`M${f(right - 0.75)} ${y}v${layout.key}`, "open") : "",
    text(begin + 7, y + layout.key / 2, "small", words),
  ];
  return coloured(scene, client, token, [pointed(scene, { kind: "key", it: key, master }, parts)]);
}
