import { parseArgs } from "node:util";
import type { Mode } from "./plan/plan.ts";

export interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly mode: Mode;
  /** Where the report goes as JSON as well. */
  readonly json: string | undefined;
}

export const usage = `Usage:
  pnpm soak --minutes N [--seed N] [--mode safe|unsafe] [--json FILE]
    --minutes  how long; fractions are fine, 0.1 at least
    --seed     which faults and which work; default: drawn, and printed
    --mode     safe (default): what the protocol promises to survive. unsafe: what breaks beyond that
    --json     writes the report there as well
Exit: 0 nothing was lost (unsafe: it was shown what breaks), 1 something was (unsafe: nothing shown),
      2 it could not run, 64 bad usage.`;

/** What is wrong with a command line, in words. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

const leastMinutes = 0.1;
/** The history is kept in memory, something like a kilobyte for each grant. */
const mostMinutes = 120;

/** @throws UsageError for anything that is not exactly a run. */
export function optionsFrom(args: readonly string[], randomSeed: () => number): Options {
  const { minutes, seed, mode = "safe", json } = parse(args);
  if (minutes === undefined) throw new UsageError("--minutes is missing");
  if (mode !== "safe" && mode !== "unsafe") {
    throw new UsageError(`--mode must be safe or unsafe, but is ${mode}`);
  }
  if (json === "") throw new UsageError("--json needs the name of a file");
  return {
    minutes: minutesFrom(minutes),
    seed: seed === undefined ? randomSeed() : seedFrom(seed),
    mode,
    json,
  };
}

function parse(args: readonly string[]): { [name in keyof Options]?: string } {
  const text = { type: "string" } as const;
  const options = { minutes: text, seed: text, mode: text, json: text };
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function minutesFrom(text: string): number {
  const minutes = Number(text);
  if (/^\d*\.?\d+$/.test(text) && minutes >= leastMinutes && minutes <= mostMinutes) return minutes;
  throw new UsageError(`--minutes must be a number from ${leastMinutes} to ${mostMinutes}, but is ${text}`);
}

function seedFrom(text: string): number {
  const seed = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(seed)) return seed;
  throw new UsageError(`--seed must be a whole number from 0 to 2^53 - 1, but is ${text}`);
}
