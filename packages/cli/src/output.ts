import { styleText } from "node:util";

// The output of every command of the program, and its exit codes.

export const exitCodes = {
  ok: 0,
  /** At least one warning or failure. */
  findings: 1,
  /** No finding, but a question that nobody answered. */
  unknown: 2,
  usage: 64,
  failed: 70,
  interrupted: 130,
} as const;

/** A mistake in a command line or in a file that it names. It is printed as one line, and never holds a secret. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export type Colour = "green" | "yellow" | "red" | "magenta" | "bold" | "dim";
export type Paint = (colour: Colour, text: string) => string;

/** Colours on a terminal alone, and none if `NO_COLOR` is set or the terminal is a dumb one. */
export function paintFor({ isTTY }: { isTTY?: boolean }, environment: NodeJS.ProcessEnv): Paint {
  const isColoured = isTTY === true && !environment["NO_COLOR"] && environment["TERM"] !== "dumb";
  return (colour, text) => (isColoured ? styleText(colour, text, { validateStream: false }) : text);
}

/** Control characters, and those that change the direction of the text around them: a terminal would obey them. */
const commands = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function spelled(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Text from outside, on one line and without an effect on a terminal. */
export function escaped(text: string): string {
  return text.replace(commands, spelled);
}

/** `1 master`, `2 masters`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** JSON that a terminal can show. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(commands, (character) =>
    character === "\n" ? character : spelled(character),
  );
}
