import { InvalidArgumentError } from "../errors.ts";

/** The allowed values of a number, also in words. */
export interface Range {
  readonly minimum: number;
  readonly maximum: number;
  readonly integer?: boolean;
  readonly what: string;
}

export const milliseconds: Range = {
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  what: "milliseconds, 0 or more",
};

/** @throws InvalidArgumentError that names the argument, the allowed values and the value. */
export function checkNumber(name: string, value: unknown, range: Range): asserts value is number {
  const fits =
    typeof value === "number" &&
    value >= range.minimum &&
    value <= range.maximum &&
    (!range.integer || Number.isInteger(value) || value === Number.POSITIVE_INFINITY);
  if (!fits) throw new InvalidArgumentError(`${name} must be ${range.what}, but is ${shown(value)}`);
}

/** False for a Proxy that was revoked as well: every look at it throws a TypeError. */
export function hasMethod(value: unknown, name: string): boolean {
  try {
    return typeof (value as Readonly<Record<string, unknown>> | null)?.[name] === "function";
  } catch {
    return false;
  }
}

/** Returns the result of `read`. An error of a getter, or of a Proxy, is the cause of an InvalidArgumentError about `what`. */
export function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    throw new InvalidArgumentError(`${what} cannot be read, see the cause`, { cause: error });
  }
}

/** The same for an object that must be of this copy of the package; those of other copies have this method as well. */
export function shownCopy(value: unknown, method: string): string {
  if (!hasMethod(value, method)) return shown(value);
  return "of another copy of the package: install one version, and load it by import or by require alone";
}

/** The length at which text is cut off in a message. */
const maxTextLength = 100;

/** A value as a message shows it: text in quotes, to distinguish "5" from 5, and of an object only its kind. */
export function shown(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > maxTextLength ? `${value.slice(0, maxTextLength)}…` : value);
  }
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  try {
    if (Array.isArray(value)) return "an array";
    return value instanceof Map || value instanceof Set ? `a ${value.constructor.name}` : "an object";
  } catch {
    return "an object that cannot be read";
  }
}
