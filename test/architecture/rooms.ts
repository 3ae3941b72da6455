import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix, relative, sep } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { argumentsOf, flag } from "@quorlock/simulation/command-line";
import ts from "@typescript/typescript6";
import { budgets, lines, lower, tableOf } from "./budgets.ts";

// The rooms of the client, and the rules for their imports. A room is a folder of packages/redlock/src, or a file beside them.
// Type imports count, and tests do not. `pnpm rooms` draws docs/rooms.svg, and prints the code lines of each room beside its
// budget; `--lower` lowers the budgets to them. An arrow that follows from others is left out.

const root = fileURLToPath(new URL("../../", import.meta.url));
export const source: string = join(root, "packages/redlock/src");
export const picture: string = join(root, "docs/rooms.svg");

/**
 * The rooms from the bottom up, each with its purpose for the picture. A room imports only from rooms below; rooms of one
 * line do not import from each other.
 */
const floors: ReadonlyArray<Readonly<Record<string, string>>> = [
  { "errors.ts": "errors", "scripts.generated.ts": "Lua" },
  { time: "clocks, timers" },
  { tracing: "diagnostics channels" },
  { "events.ts": "typed events" },
  { settings: "options, defaults" },
  { load: "admission" },
  { protocol: "vote, lease, extend, release" },
  { owners: "names, lists of masters" },
  {
    waiting: "queue, retries",
    holding: "lock, using, renewal",
    safeguards: "restart guard, clock watch",
    redis: "commands, batches, Lua",
  },
  { adapters: "client libraries" },
  { "without-scripts": "WATCH, MULTI, EXEC" },
  { "client.ts": "builds and wires" },
  { "redlock.ts": "public class" },
  { primitives: "lead, once, permits, RW lock" },
  { "index.ts": "public names" },
];

/** Published modules of lower rooms, for other packages: no file of the client imports them. */
const published: readonly string[] = ["redis/internal.ts"];

/** Packages that the client imports, and the room that does. It describes client libraries by interfaces, and imports none. */
const packages: Readonly<Record<string, string>> = { tinyqueue: "time" };

interface Import {
  /** A file of the client, by its path in `src`. */
  readonly file: string;
  /** Another one, or the name of a package. */
  readonly target: string;
  readonly isPackage: boolean;
}

/** The files of the client in `folder`, without tests. */
function filesIn(folder: string): readonly string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((file) =>
    file.replaceAll(sep, "/"),
  );
  return files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
}

/** The imports of `file`: values and types, static and dynamic, `export from` and `import("...")` in types. */
function importsOf(folder: string, file: string): readonly Import[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(folder, file), "utf8"), true, true);
  return importedFiles.map(({ fileName }) => {
    const isPackage = !fileName.startsWith(".");
    return { file, target: isPackage ? fileName : posix.join(posix.dirname(file), fileName), isPackage };
  });
}

function roomOf(file: string): string {
  return file.split("/")[0]!;
}

function floorOf(room: string): number {
  return floors.findIndex((rooms) => room in rooms);
}

/** The rules that the files in `folder` and their imports break, one line each. */
export function faultsIn(folder: string = source): readonly string[] {
  const files = filesIn(folder);
  const unlisted = new Set(files.map(roomOf).filter((room) => floorOf(room) === -1));
  const faults = files
    .filter((file) => !unlisted.has(roomOf(file)))
    .flatMap((file) => importsOf(folder, file))
    .flatMap((one) => {
      const fault = faultOf(one);
      return fault === undefined ? [] : [`${one.file} imports ${one.target}: ${fault}`];
    });
  const list = relative(root, import.meta.filename);
  return [...[...unlisted].map((room) => `${room} is a new room: add it to the list in ${list}`), ...faults];
}

function faultOf({ file, target, isPackage }: Import): string | undefined {
  const [from, to] = [roomOf(file), roomOf(target)];
  if (isPackage) return packages[target] === from ? undefined : `${from} imports no package of this name`;
  if (published.includes(target)) return "a published module is imported by other packages alone";
  const isLibrary = to === "adapters" && target.split("/").length > 2;
  if (isLibrary && from !== "adapters") return "only adapters knows one client library";
  if (from === to) return undefined;
  const [floor, below] = [floorOf(from), floorOf(to)];
  if (below === -1) return `${to} is no room`;
  if (below === floor) return `${from} and ${to} do not import from each other`;
  return below < floor ? undefined : `${to} is above ${from}`;
}

export interface Room {
  readonly name: string;
  readonly purpose: string;
  /** 0 at the bottom: one above the highest room that it imports from. */
  readonly level: number;
  /** The rooms that it imports from, but for those that one of these imports from. */
  readonly uses: readonly string[];
}

/** All rooms, the top ones first. Throws if an import breaks a rule: without such an import, rooms make no circle. */
export function roomsIn(folder: string = source): readonly Room[] {
  const faults = faultsIn(folder);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  const files = filesIn(folder);
  const rooms = new Map<string, Room>();
  const reaches = (from: string, to: string): boolean =>
    from === to || rooms.get(from)!.uses.some((next) => reaches(next, to));
  for (const [name, purpose] of floors.flatMap((floor) => Object.entries(floor))) {
    const own = files.filter((file) => roomOf(file) === name);
    if (own.length === 0) continue;
    const imports = own.flatMap((file) => importsOf(folder, file)).filter(({ isPackage }) => !isPackage);
    const all = [...new Set(imports.map(({ target }) => roomOf(target)))].filter((room) => room !== name);
    const uses = all.filter((room) => !all.some((other) => other !== room && reaches(other, room))).sort();
    const level = 1 + Math.max(-1, ...uses.map((room) => rooms.get(room)!.level));
    rooms.set(name, { name, purpose, level, uses });
  }
  return [...rooms.values()].sort(
    (one, other) => other.level - one.level || one.name.localeCompare(other.name),
  );
}

/** The longest chain of files of which each imports the next one: to understand the first, one may have to read all. */
export function longestChain(folder: string = source): readonly string[] {
  const chains = new Map<string, readonly string[]>();
  const chainFrom = (file: string): readonly string[] => {
    const known = chains.get(file);
    if (known) return known;
    const targets = importsOf(folder, file).filter(({ isPackage }) => !isPackage);
    const chain = [file, ...longestOf(targets.map(({ target }) => chainFrom(target)))];
    chains.set(file, chain);
    return chain;
  };
  return longestOf(filesIn(folder).map(chainFrom));
}

function longestOf(chains: ReadonlyArray<readonly string[]>): readonly string[] {
  return chains.reduce((longest, chain) => (chain.length > longest.length ? chain : longest), []);
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
  const boxes = rooms.map((room) => labelled(room, places.get(room.name)!));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" text-anchor="middle">
<title>The rooms of packages/redlock/src: an arrow leads to what a room imports from</title>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="arrow"/></marker></defs>
<style>.page{fill:#fff}.arrow{fill:#7a8699}.line{fill:none;stroke:#7a8699}.room{fill:#eef3fb;stroke:#36507a}.name{fill:#1b2a41}.purpose{fill:#44546c}
@media (prefers-color-scheme:dark){.page{fill:#191d24}.room{fill:#232b38;stroke:#7d96bd}.name{fill:#e9ebee}.purpose{fill:#b3bdcb}}</style>
<rect width="${width}" height="${height}" class="page"/>
${[...arrows, ...boxes].join("\n")}
</svg>
`;
}

function arrow(from: { x: number; y: number }, to: { x: number; y: number }): string {
  const [x, y] = [from.x + box.width / 2, from.y + box.height];
  const end = to.x + box.width / 2;
  const bend = (to.y - y) / 2;
  return `<path d="M${x} ${y}C${x} ${y + bend} ${end} ${to.y - bend} ${end} ${to.y}" class="line" marker-end="url(#head)"/>`;
}

function labelled({ name, purpose }: Room, { x, y }: { x: number; y: number }): string {
  const middle = x + box.width / 2;
  return `<rect x="${x}" y="${y}" width="${box.width}" height="${box.height}" rx="6" class="room"/><text x="${middle}" y="${y + 19}" font-size="15" font-weight="600" class="name">${name}</text><text x="${middle}" y="${y + 36}" font-size="12" class="purpose">${purpose}</text>`;
}

if (argv[1] === import.meta.filename) {
  const { values } = argumentsOf({
    usage: "rooms [--lower]",
    about: "draws docs/rooms.svg, and prints the code lines of each room beside its budget",
    options: { lower: flag("lowers the budgets to the lines that are there") },
    exit: "1 an import breaks a rule",
    examples: ["rooms", "rooms --lower"],
  });
  if (values.lower) lower();
  writeFileSync(picture, pictureOf(roomsIn()));
  console.log(`written: ${relative(root, picture)}`);
  const chain = longestChain();
  console.log(`the longest chain of imports has ${chain.length} files: ${chain.join(" > ")}`);
  console.log(tableOf(lines(), budgets()));
}
