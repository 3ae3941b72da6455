import { parseArgs } from "node:util";
import type { EngineKind } from "../engine/engine.ts";

export type Command =
  | {
      readonly name: "run";
      readonly seed: number;
      readonly engine: EngineKind;
      readonly trace: boolean;
    }
  | {
      readonly name: "explore";
      readonly from: number;
      readonly seeds: number;
      readonly engine: EngineKind;
    };

export const usage = `Usage:
  pnpm sim run --seed N [--engine fake-timers|heap] [--trace]   one run, twice, inside the promised model
  pnpm sim explore --seeds N [--from N] [--engine ...]          many seeds, until one is violated
Exit: 0 ok, 1 violated, 2 unknown, 3 not deterministic, 64 bad usage.`;

/** What is wrong with a command line, in words. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** @throws UsageError for anything that is not exactly a command. */
export function commandFrom(args: readonly string[]): Command {
  const [name, ...rest] = args;
  if (name === "run") {
    const { seed, engine, trace } = parse(rest, { seed: text, engine: text, trace: { type: "boolean" } });
    return {
      name,
      seed: wholeNumber("seed", seed),
      engine: engineFrom(engine, "fake-timers"),
      trace: trace === true,
    };
  }
  if (name === "explore") {
    const { seeds, from, engine } = parse(rest, { seeds: text, from: text, engine: text });
    const count = wholeNumber("seeds", seeds);
    if (count === 0) throw new UsageError("--seeds must be 1 or more, but is 0");
    return { name, seeds: count, from: wholeNumber("from", from ?? "1"), engine: engineFrom(engine, "heap") };
  }
  throw new UsageError(name === undefined ? "a command is missing" : `there is no command "${name}"`);
}

const text = { type: "string" } as const;

type Values = Record<string, string | boolean | undefined>;

function parse(args: readonly string[], options: Record<string, { type: "string" | "boolean" }>): Values {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function wholeNumber(name: string, text: string | boolean | undefined): number {
  if (text === undefined) throw new UsageError(`--${name} is missing`);
  const number = Number(text);
  if (typeof text === "string" && /^\d+$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new UsageError(`--${name} must be a whole number from 0 to 2^53 - 1, but is ${String(text)}`);
}

function engineFrom(engine: string | boolean | undefined, usual: EngineKind): EngineKind {
  if (engine === undefined) return usual;
  if (engine === "fake-timers" || engine === "heap") return engine;
  throw new UsageError(`--engine must be fake-timers or heap, but is ${String(engine)}`);
}
