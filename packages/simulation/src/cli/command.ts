import type { Verdict } from "../checkers/findings.ts";

/** One word after `pnpm sim`. */
export interface Command {
  /** How it is called, its name first. */
  readonly usage: string;
  /** What it is for, in a line. */
  readonly purpose: string;
  /** @returns the exit code. @throws UsageError for anything that is not exactly this command. */
  run(args: readonly string[]): Promise<number>;
}

export const exitCodes: Readonly<Record<Verdict | "not deterministic" | "bad usage", number>> = {
  ok: 0,
  violated: 1,
  unknown: 2,
  "not deterministic": 3,
  "bad usage": 64,
};
