import { parseArgs } from "node:util";
import { nearest } from "./nearest.ts";

/** A mistake in a command line, in words for its user: printed with the help text, without a stack trace. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One option of a command, with its line of the help text. */
export interface Option {
  readonly type: "string" | "boolean";
  /** The placeholder of the value in the help text. */
  readonly value?: string;
  readonly about: string;
}

export type Options = Readonly<Record<string, Option>>;

export interface TextOption extends Option {
  readonly type: "string";
}

export interface Flag extends Option {
  readonly type: "boolean";
}

export function text(value: string, about: string): TextOption {
  return { type: "string", value, about };
}

export function flag(about: string): Flag {
  return { type: "boolean", about };
}

export type Values<O extends Options> = {
  readonly [Name in keyof O]?: O[Name]["type"] extends "string" ? string : boolean;
};

export interface Arguments<O extends Options = Options> {
  readonly values: Values<O>;
  readonly positionals: readonly string[];
}

/**
 * Reads a command line. A script that runs through pnpm may receive the "--" that ends pnpm's own options; it is skipped.
 *
 * @throws UsageError for an unknown option, a missing value, or more than `positionals` positional arguments.
 */
export function parse<O extends Options>(
  given: readonly string[],
  options: O,
  positionals = 0,
): Arguments<O> {
  const args = given[0] === "--" ? given.slice(1) : [...given];
  refuseUnknown(args, options);
  let parsed: Arguments;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const surplus = parsed.positionals[positionals];
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one argument too many`);
  return parsed as Arguments<O>;
}

function refuseUnknown(args: string[], options: Options): void {
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  for (const token of tokens) {
    if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
    const name = nearest(token.name, [...Object.keys(options), "help"]);
    const hint = name === undefined ? "" : `; did you mean --${name}?`;
    throw new UsageError(`unknown option ${token.rawName}${hint}`);
  }
}

/** Whether the help text is asked for. */
export function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--", 1);
  return (end < 0 ? args : args.slice(0, end)).some((argument) => argument === "--help" || argument === "-h");
}

/** The lines of the help text that explain the options. */
export function optionLines(options: Options): string[] {
  const names = Object.entries(options).map(([name, { value }]) => `--${name}${value ? ` ${value}` : ""}`);
  const width = Math.max(...names.map((name) => name.length), "--help".length);
  const abouts = Object.values(options).map(({ about }) => about);
  return [...names, "--help"].map((name, index) => {
    return `  ${name.padEnd(width)}  ${abouts[index] ?? "this text"}`;
  });
}
