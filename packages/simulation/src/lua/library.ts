import { pattern } from "./pattern.ts";
import {
  all,
  caught,
  fault,
  isTrue,
  LuaError,
  type LuaFunction,
  number,
  operators,
  type Result,
  Several,
  Table,
  text,
  toNumber,
  typeOf,
  type Value,
} from "./runtime.ts";

// Those functions of Lua that scripts call. A call of another one does not compile.

/** Lua copies values to its stack. */
const maxUnpacked = 8000;

function unpack(table: Value, first: Value = 1, last?: Value): Result {
  if (!(table instanceof Table)) throw fault("bad argument #1 to 'unpack' (table expected)");
  const [from, to] = [number(first), last === undefined ? table.items.length : number(last)];
  if (to - from >= maxUnpacked) throw fault("too many results to unpack");
  const values: Value[] = [];
  for (let index = from; index <= to; index += 1) values.push(table.get(index));
  return new Several(values);
}

function pcall(run: Value, ...args: Value[]): Result {
  try {
    return new Several([true, ...all((run as LuaFunction)(...args))]);
  } catch (error) {
    // Redis 7 tells the text of an error.
    const value = caught(error);
    const told = value instanceof Table ? value.get("err") : undefined;
    return new Several([false, typeof told === "string" ? told : value]);
  }
}

function error(value: Value, level: Value = 1): never {
  throw typeof value === "string" && level !== 0 ? fault(value) : new LuaError(value);
}

/** The captures of a match; all of it where there are none. */
function captures(match: RegExpMatchArray): readonly Value[] {
  return match.length > 1 ? match.slice(1) : [match[0]];
}

function find(subject: Value, wanted: Value, init: Value = 1, isPlain?: Value): Result {
  const [within, part, first] = [text(subject), text(wanted), number(init)];
  const start = first < 0 ? within.length + first : first - 1;
  const from = Math.min(Math.max(0, start), within.length);
  if (isTrue(isPlain)) {
    const at = within.indexOf(part, from);
    return at < 0 ? undefined : new Several([at + 1, at + part.length]);
  }
  const match = pattern(part).exec(within.slice(from));
  if (!match) return undefined;
  const at = from + match.index;
  return new Several([at + 1, at + match[0].length, ...match.slice(1)]);
}

function sub(subject: Value, first: Value, last: Value = -1): string {
  const whole = text(subject);
  const [from, to] = [number(first), number(last)];
  return whole.slice(
    from < 0 ? from : Math.max(0, from - 1),
    to < 0 ? Math.max(0, whole.length + to + 1) : to,
  );
}

/** Of an argument that Lua has and this library does not. */
function refuse(what: string, value: Value): void {
  if (value !== undefined) throw new Error(`${what} is not known here`);
}

function gsub(subject: Value, wanted: Value, replacement: Value, most?: Value): Result {
  refuse("a limit for string.gsub", most);
  if (typeof replacement !== "string" || replacement.includes("%"))
    throw new Error("string.gsub is known here with a text for its replacement, without a %");
  let count = 0;
  const replaced = text(subject).replace(pattern(text(wanted), "g"), () => {
    count += 1;
    return replacement;
  });
  return new Several([replaced, count]);
}

function format(form: Value, value: Value): string {
  if (form !== "%.0f") throw new Error(`string.format is known here with %.0f, not with ${text(form)}`);
  const given = number(value);
  // Half to even.
  const whole = Math.abs(given % 1) === 0.5 ? 2 * Math.round(given / 2) : Math.round(given);
  return Math.abs(whole) < 1e21 ? String(whole) : BigInt(whole).toString();
}

const ofStrings = {
  match(subject: Value, wanted: Value, init?: Value): Result {
    refuse("a place at which string.match begins", init);
    const match = pattern(text(wanted)).exec(text(subject));
    return match ? new Several(captures(match)) : undefined;
  },
  find,
  sub,
  gsub,
  format,
  rep: (part: Value, count: Value): string => text(part).repeat(Math.max(0, number(count))),
  lower: (whole: Value): string => text(whole).toLowerCase(),
};

const ofTables = {
  concat(table: Value, between: Value = "", first?: Value): string {
    refuse("a part of a table for table.concat", first);
    return (table as Table).items.map(text).join(text(between));
  },
};

const ofNumbers = {
  max: (...numbers: Value[]): number => Math.max(...numbers.map(number)),
  min: (...numbers: Value[]): number => Math.min(...numbers.map(number)),
  floor: (value: Value): number => Math.floor(number(value)),
  ceil: (value: Value): number => Math.ceil(number(value)),
};

/** By the names of Lua. */
export const library: Readonly<Record<string, LuaFunction | Readonly<Record<string, LuaFunction>>>> = {
  type: typeOf,
  tonumber(value: Value, base?: Value): number | undefined {
    refuse("a base for tonumber", base);
    return toNumber(value);
  },
  tostring: (value: Value): string =>
    typeof value === "number" || typeof value === "string"
      ? text(value)
      : typeof value === "boolean"
        ? String(value)
        : typeOf(value),
  unpack,
  error,
  pcall,
  string: ofStrings,
  table: ofTables,
  math: ofNumbers,
};

/** The rounds of `for ... in string.gmatch(...)`. */
function matches(subject: Value, wanted: Value): ReadonlyArray<readonly Value[]> {
  return Array.from(text(subject).matchAll(pattern(text(wanted), "g")), captures);
}

/** All that compiled scripts use, by its name in them. */
export const scope: Readonly<Record<string, unknown>> = { ...operators, ...library, matches };
