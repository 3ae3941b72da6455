// The runtime of compiled Lua (see compile.ts). Strings, numbers and booleans are JavaScript's, nil is `undefined`. A function
// returns one value, or `Several`; where it returns none, that is nil. A character of a string is a byte as far as those of commands are.

import { ReplyError } from "../master/reply.ts";

export type Value = undefined | boolean | number | string | Table | LuaFunction;
export type LuaFunction = (...args: Value[]) => Result;
export type Result = Value | Several;

/** The values of an expression that has not exactly one. */
export class Several {
  readonly values: readonly Value[];

  constructor(values: readonly Value[]) {
    this.values = values;
  }
}

export class Table {
  /** The values of the keys 1, 2 and so on; the last one is not nil. */
  readonly items: Value[];
  /** Those of all other keys. */
  #others: Map<Value, Value> | undefined;

  /** `items` becomes its own. */
  constructor(items: Value[] = []) {
    this.items = items;
    this.#trim();
  }

  get(key: Value): Value {
    return (typeof key === "number" ? this.items[key - 1] : undefined) ?? this.#others?.get(key);
  }

  set(key: Value, value: Value): this {
    const { items } = this;
    if (key === undefined || Number.isNaN(key)) throw fault("table index is nil or NaN");
    if (typeof key === "number" && key >= 1 && key <= items.length + 1 && Number.isInteger(key)) {
      items[key - 1] = value;
      if (value === undefined) this.#trim();
      else if (this.#others) this.#moveNext(this.#others);
    } else if (value === undefined) this.#others?.delete(key);
    else {
      this.#others ??= new Map();
      this.#others.set(key, value);
    }
    return this;
  }

  #trim(): void {
    const { items } = this;
    while (items.length > 0 && items.at(-1) === undefined) items.pop();
  }

  /** Moves the items that stood behind a gap, once it is closed. */
  #moveNext(others: Map<Value, Value>): void {
    for (let next = this.items.length + 1; others.has(next); next += 1) {
      this.items.push(others.get(next));
      others.delete(next);
    }
  }
}

/** Raised by a script. */
export class LuaError extends Error {
  readonly value: Value;

  constructor(value: Value) {
    super(typeof value === "string" ? value : `a ${typeOf(value)}`);
    this.value = value;
  }
}

/** An error raised by Lua itself. The line in the script is left out. */
export function fault(what: string): LuaError {
  return new LuaError(`user_script: ${what}`);
}

/** The form of an error that a command has returned. */
export function errorTable(message: string): Table {
  return new Table().set("err", message);
}

/** The value that a script catches: `pcall` stops errors of scripts and commands, and no others. */
export function caught(error: unknown): Value {
  if (error instanceof LuaError) return error.value;
  if (error instanceof ReplyError) return errorTable(error.message);
  throw error;
}

export function typeOf(value: Value): string {
  if (value === undefined) return "nil";
  return value instanceof Table ? "table" : typeof value;
}

// The operators.

export function isTrue(value: Value): boolean {
  return value !== undefined && value !== false;
}

export function one(result: Result): Value {
  return result instanceof Several ? result.values[0] : result;
}

export function all(result: Result): readonly Value[] {
  return result instanceof Several ? result.values : [result];
}

export function get(table: Value, key: Value): Value {
  if (table instanceof Table) return table.get(key);
  // (Of a string it would be a function of `string`: scripts ask for other names.)
  if (typeof table === "string") return undefined;
  throw fault(`attempt to index a ${typeOf(table)} value`);
}

export function set(table: Value, key: Value, value: Value): void {
  if (!(table instanceof Table)) throw fault(`attempt to index a ${typeOf(table)} value`);
  table.set(key, value);
}

export function number(value: Value): number {
  const converted = typeof value === "number" ? value : toNumber(value);
  if (converted === undefined) throw fault(`attempt to perform arithmetic on a ${typeOf(value)} value`);
  return converted;
}

export function text(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return numberText(value, 14);
  throw fault(`attempt to concatenate a ${typeOf(value)} value`);
}

export function length(value: Value): number {
  if (typeof value === "string") return value.length;
  if (value instanceof Table) return value.items.length;
  throw fault(`attempt to get length of a ${typeOf(value)} value`);
}

/** Below 0, 0 or above, as the left one is less than, equal to or more than the right one; NaN where one is NaN. */
export function compared(left: Value, right: Value): number {
  if (typeof left !== typeof right || (typeof left !== "number" && typeof left !== "string"))
    throw fault(`attempt to compare ${typeOf(left)} with ${typeOf(right)}`);
  const [one, other] = [left as number, right as number];
  return one < other ? -1 : one > other ? 1 : one === other ? 0 : Number.NaN;
}

export function modulo(left: number, right: number): number {
  return left - Math.floor(left / right) * right;
}

const numeral = /^\s*([-+]?)(0x[\da-f]+|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*$/i;

export function toNumber(value: Value): number | undefined {
  if (typeof value === "number") return value;
  const [, sign, digits] = (typeof value === "string" && numeral.exec(value)) || [];
  if (digits === undefined) return undefined;
  return sign === "-" ? -Number(digits) : Number(digits);
}

/** As `%.14g` of C, or with as many digits as are given. */
export function numberText(value: number, digits: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e14) return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const [, exponentText = ""] = value.toExponential(digits - 1).split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < digits) return withoutZeros(value.toFixed(digits - 1 - exponent));
  const [mantissa = ""] = value.toExponential(digits - 1).split("e");
  const sign = exponent < 0 ? "-" : "+";
  return `${withoutZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function withoutZeros(decimal: string): string {
  return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}

/** The part of this file that compiled scripts use. */
export const operators: Readonly<Record<string, unknown>> = {
  Several,
  Table,
  isTrue,
  one,
  all,
  get,
  set,
  number,
  text,
  length,
  compared,
  modulo,
};
