import type { Verdict } from "../checkers/findings.ts";
import type { Program } from "../command-line/program.ts";

/** A subcommand of the simulator. */
export interface Command extends Program {
  readonly usage: string;
  readonly about: string;
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

/** Beside those of every program. */
export const exit = "1 violated, 2 unknown, 3 not deterministic, 70 failed";
