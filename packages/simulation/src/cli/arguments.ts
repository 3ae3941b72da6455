import { nearest } from "../command-line/nearest.ts";
import { type TextOption, text, UsageError } from "../command-line/options.ts";
import type { Subject } from "../run/subject.ts";
import { mutantNames, otherSubjects, subjectNamed, subjectNames } from "./edition.ts";

/** @throws UsageError unless it is a whole number, `least` or more. */
export function wholeNumber(name: string, given: string | undefined, least = 0): number {
  if (given === undefined) throw new UsageError(`--${name} is missing`);
  const number = Number(given);
  if (/^\d+$/.test(given) && Number.isSafeInteger(number) && number >= least) return number;
  throw new UsageError(`--${name} must be a whole number from ${least} to 2^53 - 1, but is ${given}`);
}

/** @throws UsageError unless it is one of `choices`. */
export function choice<T extends string>(
  name: string,
  given: string | undefined,
  choices: readonly T[],
  fallback: T,
): T {
  if (given === undefined) return fallback;
  const found = choices.find((candidate) => candidate === given);
  if (found !== undefined) return found;
  const near = nearest(given, choices);
  const hint = near === undefined ? "" : `; did you mean ${near}?`;
  throw new UsageError(`--${name} must be ${choices.join(" or ")}, but is ${given}${hint}`);
}

/** The options that choose the client under test. */
export const subjectOptions: { readonly subject: TextOption; readonly mutant: TextOption } = {
  subject: text("NAME", `client under test: ${subjectNames.join(", ")}; default quorlock`),
  mutant: text("NAME", `mutant of the client under test: ${otherSubjects}`),
};

/** The client under test, with its name. */
export interface NamedSubject {
  readonly subjectName: string;
  readonly subject: Subject;
}

/** @throws UsageError if no subject has that name, or if two are named. */
export async function subjectFrom(
  { subject: peer, mutant }: { readonly subject?: string; readonly mutant?: string },
  fallback = "quorlock",
): Promise<NamedSubject> {
  if (peer !== undefined && mutant !== undefined)
    throw new UsageError("--subject and --mutant exclude each other");
  const subjectName = peer ?? mutant ?? fallback;
  const subject = await subjectNamed(subjectName);
  if (subject) return { subjectName, subject };
  const name = nearest(subjectName, [...subjectNames, ...mutantNames()]);
  const hint =
    name === undefined
      ? `choose from ${subjectNames.join(", ")}, or ${otherSubjects}`
      : `did you mean "${name}"?`;
  throw new UsageError(`unknown subject "${subjectName}": ${hint}`);
}
