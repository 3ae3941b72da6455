import { helpText, known, parse, text, UsageError } from "@quorlock/simulation/command-line";
import type { Mode } from "./plan/plan.ts";

export interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly mode: Mode;
  /** Where the report goes as JSON as well. */
  readonly json: string | undefined;
  /** Where the record of one key goes, for `pnpm spec --recorded`. */
  readonly record: string | undefined;
}

const cliOptions = {
  minutes: text("N", "the duration: a number from 0.1 to 120, such as 0.5"),
  seed: text("N", "determines the faults and the work; default: random, and printed"),
  mode: text("MODE", "safe (default): faults that the protocol survives; unsafe: faults beyond that"),
  json: text("FILE", "also writes the report there as JSON"),
  record: text(
    "FILE",
    "the requests to masters about one key go there, for pnpm spec --recorded; no master is killed or moved then",
  ),
};

export const usage: string = helpText({
  usage: "soak --minutes N [--seed N] [--mode safe|unsafe] [--json FILE] [--record FILE]",
  about: [
    "runs workers against real masters while faults are injected, and checks that no update is lost",
    "Ctrl-C ends it with a report of the run so far",
  ],
  options: cliOptions,
  exit: "1 an update was lost (unsafe: none was), 2 it could not run",
  examples: [
    "soak --minutes 1",
    "soak --minutes 10 --seed 7 --json soak.json",
    "soak --minutes 1 --mode unsafe",
  ],
});

const minMinutes = 0.1;
/** The history stays in memory: about one kilobyte for each grant. */
const maxMinutes = 120;

/** @throws UsageError for arguments that do not describe a run. */
export function optionsFrom(args: readonly string[], randomSeed: () => number): Options {
  const { minutes, seed, mode = "safe", json, record } = parse(args, cliOptions).values;
  if (minutes === undefined) throw new UsageError("--minutes is missing");
  if (json === "") throw new UsageError("--json needs the name of a file");
  if (record === "") throw new UsageError("--record needs the name of a file");
  const chosen = known<Mode>("--mode", mode, ["safe", "unsafe"]);
  if (record !== undefined && mode === "unsafe") throw new UsageError("--record is for the safe mode");
  return {
    minutes: minutesFrom(minutes),
    seed: seed === undefined ? randomSeed() : seedFrom(seed),
    mode: chosen,
    json,
    record,
  };
}

function minutesFrom(given: string): number {
  const minutes = Number(given);
  if (/^\d*\.?\d+$/.test(given) && minutes >= minMinutes && minutes <= maxMinutes) return minutes;
  throw new UsageError(`--minutes must be a number from ${minMinutes} to ${maxMinutes}, but is ${given}`);
}

function seedFrom(given: string): number {
  const seed = Number(given);
  if (/^\d+$/.test(given) && Number.isSafeInteger(seed)) return seed;
  throw new UsageError(`--seed must be a whole number from 0 to 2^53 - 1, but is ${given}`);
}
