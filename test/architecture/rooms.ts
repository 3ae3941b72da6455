import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

// `pnpm rooms` draws docs/rooms.svg from the imports of the client. A room is a folder of packages/redlock/src, or a file
// beside them. Type imports count. An arrow that follows from others is left out.

const root = fileURLToPath(new URL("../../", import.meta.url));
const source = join(root, "packages/redlock/src");
export const picture: string = join(root, "docs/rooms.svg");

/** The purpose of each room, for the picture. A room without one is an error. */
const purposes: Readonly<Record<string, string>> = {
  "index.ts": "public names",
  "redlock.ts": "public class",
  "client.ts": "builds and wires",
  "events.ts": "typed events",
  "errors.ts": "errors",
  "resource-names.ts": "resources in messages",
  primitives: "lead, semaphore, RW lock",
  "without-scripts": "WATCH, MULTI, EXEC",
  adapters: "client libraries",
  waiting: "queue, retries",
  holding: "lock, using, renewal",
  safeguards: "restart guard, clock watch",
  redis: "commands, batches, Lua",
  protocol: "vote, lease, extend, release",
  load: "admission",
  settings: "options, defaults",
  time: "clocks, timers",
};

export interface Room {
  readonly name: string;
  /** 0 at the bottom: one above the highest room that it imports from. */
  readonly level: number;
  /** The rooms that it imports from, but for those that one of these imports from. */
  readonly uses: readonly string[];
}

/** All rooms, the top ones first. Throws if their imports make a circle. */
export function roomsIn(folder: string = source): readonly Room[] {
  const imports = importsIn(folder);
  const levels = new Map<string, number>();
  const levelOf = (room: string, path: readonly string[]): number => {
    if (path.includes(room)) throw new Error(`a circle: ${[...path, room].join(" > ")}`);
    const known = levels.get(room);
    if (known !== undefined) return known;
    const below = [...(imports.get(room) ?? [])].map((other) => levelOf(other, [...path, room]));
    const level = 1 + Math.max(-1, ...below);
    levels.set(room, level);
    return level;
  };
  const reaches = (from: string, to: string): boolean =>
    [...(imports.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  const rooms = [...imports].map(([name, all]) => ({
    name,
    level: levelOf(name, []),
    uses: [...all].filter((room) => ![...all].some((other) => other !== room && reaches(other, room))).sort(),
  }));
  return rooms.sort((one, other) => other.level - one.level || one.name.localeCompare(other.name));
}

function importsIn(folder: string): ReadonlyMap<string, ReadonlySet<string>> {
  const imports = new Map<string, Set<string>>();
  for (const file of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts") || /\.(test|d)\.ts$/.test(file)) continue;
    const room = file.split(sep)[0]!;
    const used = imports.get(room) ?? new Set();
    imports.set(room, used);
    for (const [, target = ""] of readFileSync(join(folder, file), "utf8").matchAll(
      /(?:from|import) "(\.[^"]+)"/g,
    )) {
      const other = relative(folder, join(folder, file, "..", target)).split(sep)[0]!;
      if (other !== room) used.add(other);
    }
  }
  return imports;
}

const box = { width: 190, height: 44, gap: 24, rise: 40 };

export function pictureOf(rooms: readonly Room[]): string {
  const top = Math.max(...rooms.map(({ level }) => level));
  const rows = Array.from({ length: top + 1 }, (_, row) => rooms.filter(({ level }) => level === top - row));
  const width = Math.max(...rows.map((row) => row.length)) * (box.width + box.gap) + box.gap;
  const height = rows.length * (box.height + box.rise) + box.gap;
  const places = new Map<string, { x: number; y: number }>();
  for (const [row, all] of rows.entries()) {
    const left = (width - all.length * (box.width + box.gap) + box.gap) / 2;
    for (const [column, { name }] of all.entries())
      places.set(name, {
        x: left + column * (box.width + box.gap),
        y: box.gap + row * (box.height + box.rise),
      });
  }
  const arrows = rooms.flatMap(({ name, uses }) =>
    uses.map((used) => arrow(places.get(name)!, places.get(used)!)),
  );
  const boxes = rooms.map(({ name }) => labelled(name, places.get(name)!));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" text-anchor="middle">
<title>The rooms of packages/redlock/src: an arrow leads to what a room imports from</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#7a8699"/></marker></defs>
<rect width="${width}" height="${height}" fill="#fff"/>
${[...arrows, ...boxes].join("\n")}
</svg>
`;
}

function arrow(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const [x, y] = [from.x + box.width / 2, from.y + box.height];
  const end = to.x + box.width / 2;
  const bend = (to.y - y) / 2;
  return `<path d="M${x} ${y}C${x} ${y + bend} ${end} ${to.y - bend} ${end} ${to.y}" fill="none" stroke="#7a8699" marker-end="url(#head)"/>`;
}

function labelled(name: string, { x, y }: { x: number; y: number }): string {
  const purpose = purposes[name];
  if (purpose === undefined)
    throw new Error(`${name} is a new room: say in ${relative(root, import.meta.filename)} what it is for`);
  const middle = x + box.width / 2;
  return `<rect x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="6" fill="#eef3fb" stroke="#36507a"/><text x="${middle}" y="${y + 19}" font-size="15" font-weight="600" fill="#1b2a41">${name}</text><text x="${middle}" y="${y + 36}" font-size="12" fill="#44546c">${purpose}</text>`;
}

if (argv[1] === import.meta.filename) {
  writeFileSync(picture, pictureOf(roomsIn()));
  console.log(`written: ${relative(root, picture)}`);
}
