import { DefaultMap } from "../default-map.ts";

const known = {
  "": new DefaultMap((source: string) => new RegExp(translated(source))),
  g: new DefaultMap((source: string) => new RegExp(translated(source), "g")),
};

/** A pattern of Lua as a regular expression. An item without an equal is an error: `%b`, `%f`, `%1`, `()`, a class such as `[%S]`. */
export function pattern(source: string, flags: "" | "g" = ""): RegExp {
  return known[flags].get(source);
}

/** A set in brackets, a character behind a `%`, or any other one. */
const parts = /\[\^?\]?(?:%.|[^\]%])*\]|%.|./gs;

function translated(source: string): string {
  if (/\(\)|%[bf1-9]/.test(source)) throw new Error(`this pattern of Lua is not known here: ${source}`);
  const all = source.match(parts) ?? [];
  let isItem = false;
  let regex = "";
  for (const [index, part] of all.entries()) {
    const isCount: boolean = isItem && "*+?-".includes(part);
    const isAnchor = (part === "^" && index === 0) || (part === "$" && index === all.length - 1);
    isItem = !isCount && !isAnchor && !"()".includes(part);
    if (isItem) regex += item(part);
    else regex += part === "-" ? "*?" : part;
  }
  return regex;
}

function item(part: string): string {
  if (part === ".") return "[^]";
  if (part.length === 1) return escaped(part);
  if (part.startsWith("%")) return classOf(part) ?? escaped(part.slice(1));
  const inside = part.slice(part[1] === "^" ? 2 : 1, -1);
  const members = inside.match(/%.|./gs) ?? [];
  return `[${part[1] === "^" ? "^" : ""}${members.map(member).join("")}]`;
}

function member(part: string): string {
  if (part === "-") return part;
  const own = part.startsWith("%") ? classOf(part) : undefined;
  if (own?.startsWith("[^")) throw new Error(`this class of Lua is not known in brackets here: ${part}`);
  return own ? own.slice(1, -1) : escaped(part.at(-1)!);
}

/** In brackets; of the C locale. */
const classes: ReadonlyMap<string, string> = new Map([
  ["a", "A-Za-z"],
  ["c", "\\x00-\\x1f\\x7f"],
  ["d", "0-9"],
  ["l", "a-z"],
  ["p", "!-\\/:-@\\[-`{-~"],
  ["s", " \\t-\\r"],
  ["u", "A-Z"],
  ["w", "0-9A-Za-z"],
  ["x", "0-9A-Fa-f"],
]);

/** Of a letter behind a `%`; nothing for any other character. */
function classOf(part: string): string | undefined {
  const letter = part.slice(1);
  const characters = classes.get(letter.toLowerCase());
  return characters && `[${letter === letter.toLowerCase() ? "" : "^"}${characters}]`;
}

function escaped(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&");
}
