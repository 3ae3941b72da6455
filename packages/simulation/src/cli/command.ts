import type { Verdict } from "../checkers/findings.ts";
import { type Options, optionLines } from "../command-line/options.ts";
import { commandLine, program } from "./edition.ts";

/** A subcommand of the simulator. */
export interface Command {
  /** The name and the shape of the arguments. */
  readonly usage: string;
  /** The purpose in one line. */
  readonly purpose: string;
  readonly options: Options;
  /** As they are typed after the name of the program. */
  readonly examples: readonly string[];
  /**
   * `interrupted` aborts on Ctrl-C: the command then prints the results so far and returns. A command that does not
   * look at it has none, and is ended by the signal.
   *
   * @returns the exit code. @throws UsageError for arguments that are not exactly a call of this command.
   */
  run(args: readonly string[], interrupted?: AbortSignal): Promise<number>;
  /** Whether Ctrl-C is left to `run`. */
  readonly isInterruptible?: boolean;
}

/** The default of `interrupted`: it never aborts. */
export const neverInterrupted: AbortSignal = new AbortController().signal;

export const exitCodes: Readonly<Record<Verdict | "not deterministic" | "bad usage" | "failed", number>> = {
  ok: 0,
  violated: 1,
  unknown: 2,
  "not deterministic": 3,
  "bad usage": 64,
  failed: 70,
};

export const exitLine =
  "Exit: 0 ok, 1 violated, 2 unknown, 3 not deterministic, 64 bad usage, 70 failed, 130 interrupted.";

export function exampleLines(examples: readonly string[]): string[] {
  return ["Examples:", ...examples.map((example) => `  ${commandLine} ${example}`)];
}

export function helpOf({ usage, purpose, options, examples }: Command): string {
  const lines = [`Usage: ${program} ${usage}`, `  ${purpose}`, "Options:", ...optionLines(options)];
  return [...lines, exitLine, ...exampleLines(examples)].join("\n");
}
