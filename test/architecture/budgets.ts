import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeLinesIn } from "./code-lines.ts";

// A budget of code lines for each room. `budgets.json` has three parts:
//
// - `rooms`: what each room may have. These numbers only fall; `pnpm rooms --lower` lowers them to what is there.
// - `features`: what was added since. Each names its price in lines, and where its users ask for it, before it is built.
// - `moves`: what went from one room to another. The sum of a move is not above zero.
//
// The budget of a room is its number in `rooms` and those in all entries of the other two.

/** Below its budget by this much, a room fails as well: a budget that is not lowered would hide the next addition. */
export const slack = 50;
type Lines = Readonly<Record<string, number>>;

export interface Feature {
  readonly feature: string;
  /** The address of a public request. */
  readonly request: string;
  readonly price: { readonly client: number; readonly tests: number; readonly simulator: number };
  readonly rooms: Lines;
}

export interface Move {
  readonly move: string;
  readonly rooms: Lines;
}

export interface Budgets {
  readonly rooms: Lines;
  readonly features: readonly Feature[];
  readonly moves: readonly Move[];
}

const root = join(import.meta.dirname, "../..");
const file = "budgets.json";

export const lines: () => ReadonlyMap<string, number> = () => codeLinesIn(root);
export const budgets: () => Budgets = () => JSON.parse(readFileSync(join(root, file), "utf8")) as Budgets;

function sumOf(numbers: Iterable<number>): number {
  return [...numbers].reduce((sum, number) => sum + number, 0);
}

function linesOf(rooms: Iterable<readonly [string, number]>, isCounted: (room: string) => boolean): number {
  return sumOf([...rooms].filter(([room]) => isCounted(room)).map(([, count]) => count));
}

const isClient = (room: string): boolean => room.startsWith("client/");
const isSimulator = (room: string): boolean => room === "simulation";

export function budgetOf(room: string, { rooms, features, moves }: Budgets): number {
  return (rooms[room] ?? 0) + sumOf([...features, ...moves].map((entry) => entry.rooms[room] ?? 0));
}

/** The faults in the lines of rooms, one sentence each. */
export function faultsOf(counted: ReadonlyMap<string, number>, given: Budgets): readonly string[] {
  const rooms = new Set([...counted.keys(), ...Object.keys(given.rooms)]);
  return [...rooms].flatMap((room) => {
    const [count, budget] = [counted.get(room) ?? 0, budgetOf(room, given)];
    if (count > budget)
      return `${room} has ${count} code lines, and its budget is ${budget}: make it smaller, or name the feature in ${file}`;
    if (count > budget - slack) return [];
    return `${room} has ${count} code lines, and its budget is ${budget}: lower it by \`pnpm rooms --lower\``;
  });
}

/** The faults in the entries. */
export function entryFaultsOf({ features, moves }: Budgets): readonly string[] {
  const priced = features.flatMap(({ feature, request, price, rooms }) => {
    const own = Object.entries(rooms);
    const parts = [
      ["client", price.client, linesOf(own, isClient)],
      ["simulator", price.simulator, linesOf(own, isSimulator)],
      ["tests", price.tests, rooms["tests"] ?? 0],
    ] as const;
    const dear = parts.filter(([, named, taken]) => taken > named);
    return [
      ...(/^https:\/\/\S+$/.test(request) ? [] : [`"${feature}" names no public request`]),
      ...dear.map(
        ([part, named, taken]) => `"${feature}" takes ${taken} lines of the ${part}, and names ${named}`,
      ),
    ];
  });
  const grown = moves.filter(({ rooms }) => sumOf(Object.values(rooms)) > 0);
  return [...priced, ...grown.map(({ move }) => `the move "${move}" adds lines: it is a feature`)];
}

/** The numbers of a version, by names that stay the same from one version to the next. */
function numbersOf({ rooms, features, moves }: Budgets): ReadonlyMap<string, number> {
  const named = [
    ...features.map(({ feature, rooms: own }) => [feature, own] as const),
    ...moves.map(({ move, rooms: own }) => [move, own] as const),
  ];
  const inside = named.flatMap(([name, own]) =>
    Object.entries(own).map(([room, count]) => [`${room} of "${name}"`, count] as const),
  );
  return new Map([...Object.entries(rooms), ...inside]);
}

/** The numbers that a version of the file raises above those of the version before it. A new entry raises nothing: it is judged itself. */
export function risesFrom(before: Budgets, after: Budgets): readonly string[] {
  const [old, names] = [
    numbersOf(before),
    new Set([...before.features.map(({ feature }) => feature), ...before.moves.map(({ move }) => move)]),
  ];
  const isOld = (name: string): boolean =>
    !/ of "/.test(name) || [...names].some((entry) => name.endsWith(` of "${entry}"`));
  const raised = [...numbersOf(after)].filter(([name, count]) => isOld(name) && count > (old.get(name) ?? 0));
  return raised.map(
    ([name, count]) => `${name} rises from ${old.get(name) ?? 0} to ${count} without an entry`,
  );
}

function git(...args: readonly string[]): string {
  return execFileSync("git", ["-C", root, ...args], { encoding: "utf8" });
}

/** All versions of the file, the oldest first, with the one that is not committed yet. */
export function versions(): readonly Budgets[] {
  const commits = git("log", "--reverse", "--diff-filter=AM", "--format=%H", "--", file).trim().split("\n");
  const committed = commits
    .filter((commit) => commit !== "")
    .map((commit) => JSON.parse(git("show", `${commit}:${file}`)) as Budgets);
  return [...committed, budgets()];
}

/** The table that `pnpm rooms` prints. */
export function tableOf(counted: ReadonlyMap<string, number>, given: Budgets): string {
  const rows = [...counted]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([room, count]) => [room, count, budgetOf(room, given)] as const);
  const sums = [
    ["client", isClient],
    ["all", () => true],
  ] as const;
  const total = sums.map(
    ([name, is]) =>
      [
        name,
        linesOf(counted, is),
        linesOf(
          rows.map(([room, , budget]) => [room, budget] as const),
          is,
        ),
      ] as const,
  );
  const widths = [22, 8, 8];
  const row = (cells: readonly (string | number)[]): string =>
    cells
      .map((cell, index) => (index === 0 ? `${cell}`.padEnd(widths[0]!) : `${cell}`.padStart(widths[index]!)))
      .join("");
  return [row(["code lines of", "now", "budget"]), ...rows.map(row), ...total.map(row)].join("\n");
}

/** Lowers each number to what is there. */
export function lower(): void {
  const [counted, given] = [lines(), budgets()];
  const rooms = Object.entries(given.rooms).map(([room, count]) => {
    const left = budgetOf(room, given) - (counted.get(room) ?? 0);
    return [room, left > 0 ? count - left : count] as const;
  });
  writeFileSync(
    join(root, file),
    `${JSON.stringify({ ...given, rooms: Object.fromEntries(rooms) }, undefined, 2)}\n`,
  );
}
