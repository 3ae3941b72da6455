import { suggestion } from "../command-line/nearest.ts";
import { type TextOption, text, UsageError } from "../command-line/options.ts";
import type { Subject } from "../run/subject.ts";
import { mutantNames, otherSubjects, subjectNamed, subjectNames } from "./edition.ts";

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
  const choice = `${subjectNames.join(", ")}, or ${otherSubjects}`;
  const hint = suggestion(subjectName, [...subjectNames, ...mutantNames()], choice);
  throw new UsageError(`unknown subject "${subjectName}": ${hint}`);
}
