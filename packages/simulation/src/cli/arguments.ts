import { parseArgs } from "node:util";
import type { EngineKind } from "../engine/engine.ts";
import { subjectNamed, subjectNames } from "../peers/subject-named.ts";
import type { Subject } from "../run/subject.ts";

/** What is wrong with a command line, in words. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

type Given = string | boolean | undefined;

export const text = { type: "string" } as const;
export const flag = { type: "boolean" } as const;

export interface Arguments {
  readonly values: Readonly<Record<string, Given>>;
  readonly positionals: readonly string[];
}

/** @throws UsageError for an option that is not among these, or for more positional arguments than `positionals`. */
export function parse(
  args: readonly string[],
  options: Record<string, typeof text | typeof flag>,
  positionals = 0,
): Arguments {
  let parsed: Arguments;
  try {
    parsed = parseArgs({ args: [...args], options, allowPositionals: positionals > 0 });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const surplus = parsed.positionals[positionals];
  if (surplus !== undefined) throw new UsageError(`"${surplus}" is one argument too many`);
  return parsed;
}

/** @throws UsageError unless it is a whole number, `least` or more. */
export function wholeNumber(name: string, given: Given, least = 0): number {
  if (given === undefined) throw new UsageError(`--${name} is missing`);
  const number = Number(given);
  if (typeof given === "string" && /^\d+$/.test(given) && Number.isSafeInteger(number) && number >= least)
    return number;
  throw new UsageError(`--${name} must be a whole number from ${least} to 2^53 - 1, but is ${String(given)}`);
}

/** @throws UsageError unless it is one of `choices`. */
export function choice<T extends string>(name: string, given: Given, choices: readonly T[], usual: T): T {
  if (given === undefined) return usual;
  const found = choices.find((candidate) => candidate === given);
  if (found !== undefined) return found;
  throw new UsageError(`--${name} must be ${choices.join(" or ")}, but is ${String(given)}`);
}

export function engineFrom(given: Given, usual: EngineKind): EngineKind {
  return choice("engine", given, ["fake-timers", "heap"], usual);
}

/** What is put to the test, by name. */
export interface NamedSubject {
  readonly subjectName: string;
  readonly subject: Subject;
}

/** @throws UsageError where nothing has that name, or two are named. */
export async function subjectFrom({ values }: Arguments, usual = "quorlock"): Promise<NamedSubject> {
  const { subject: peer, mutant } = values;
  if (peer !== undefined && mutant !== undefined)
    throw new UsageError("--subject and --mutant exclude each other");
  const subjectName = String(peer ?? mutant ?? usual);
  const subject = await subjectNamed(subjectName);
  if (subject) return { subjectName, subject };
  throw new UsageError(
    `there is no subject "${subjectName}": there are ${subjectNames.join(", ")}, and each mutant of ` +
      "packages/simulation/src/mutants/mutants.ts by its name",
  );
}
