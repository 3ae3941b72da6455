import type { Case } from "./case.ts";
import type { CaseResult } from "./processes/case-process.ts";

/** A case, and what came of it in each library, in their order. */
export interface Line {
  readonly one: Case;
  readonly results: readonly CaseResult[];
}

const introduction = `# Conformance

What users of Redlock meet, case by case, run against this client and its peers on real masters: redlock
5.0.0-beta.2, redis-semaphore 5.8.0 and redlock-universal 0.8.5. Written by \`pnpm conformance --peers\`;
\`pnpm conformance\` alone holds this client to every case.

- **n/a**: the library has no call that the case could be about.
- redis-semaphore has no call that runs a routine under a lock. Where a case needs one, it is made of its automatic
  extension and an \`onLockLost\` that notifies the routine; by default it throws where no caller can catch it.
`;

/** The page: who passes what, then what was demanded and observed. */
export function document(libraries: readonly string[], lines: readonly Line[]): string {
  const counts = libraries.map((_, index) => {
    const marks = lines.map(({ results }) => results[index]!.mark);
    const of = (mark: CaseResult["mark"]) => marks.filter((one) => one === mark).length;
    return `${of("conforms")} of ${marks.length - of("n/a")}`;
  });
  const head = [
    `| row | situation | ${libraries.join(" | ")} |`,
    `| --: | --- |${libraries.map(() => " --- |").join("")}`,
  ];
  const body = lines.map(({ one, results }) => {
    const marks = results.map(({ mark }) => (mark === "FAILS" ? "**fails**" : mark));
    return `| ${one.row} | ${escaped(one.situation)} | ${marks.join(" | ")} |`;
  });
  const sum = `| | conforms | ${counts.join(" | ")} |`;
  const details = lines.map((line) => detail(libraries, line));
  return `${introduction}\n${[...head, ...body, sum].join("\n")}\n\n## What was observed\n\n${details.join("\n")}`;
}

function detail(libraries: readonly string[], { one, results }: Line): string {
  const observed = results.map(
    ({ mark, observed }, index) => `- ${libraries[index]}: ${mark}: ${escaped(observed)}`,
  );
  return `### Row ${one.row}: ${one.situation}\n\nDemanded: ${one.bound}.\n\n${observed.join("\n")}\n`;
}

/** Text from libraries must not end a cell or a line, or be read as markup. */
function escaped(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
