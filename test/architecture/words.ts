import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";
import { argumentsOf } from "@quorlock/simulation/command-line";

// `pnpm words` prints the number of words in each Markdown file of the repository, as `wc -w` counts them, and the number of
// lines of code.

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Files that a command writes, as patterns, and that command. Nobody edits them, so they are counted apart. */
const generated: readonly (readonly [file: RegExp, command: string])[] = [
  [/^docs\/benchmark\.md$/, "pnpm bench"],
  [/^docs\/conformance\.md$/, "pnpm conformance --write"],
  [/^docs\/protocol-evidence\.md$/, "pnpm evidence"],
  [/^docs\/scenarios\.md$/, "pnpm sim scenarios --write"],
  [/^docs\/specification-figures\.md$/, "pnpm spec --write"],
  [/^packages\/redlock\/docs\/servers\.md$/, "pnpm engines"],
  [/^packages\/[^/]+\/api\/.+\.api\.md$/, "pnpm run api"],
];

/** Pages for those who operate masters and clients; the others are about the client and its proofs. */
const forOperators =
  /^(packages\/(cli|opentelemetry)\/|monitoring\/|packages\/redlock\/docs\/(changing-masters|errors|is-it-locked|monitoring|one-redis|owners|production|replica|runbooks|shutdown|tracing)\.md$)/;

/** The packages for frameworks, and for code of redlock 4, each of which says all that its users need. */
const forFrameworks = /^packages\/(express|fastify|nestjs|redlock-4)\//;

/** Pages that teach and compare; and the lines for coding agents. */
const forLearners =
  /^packages\/(site\/|redlock\/(skills\/|docs\/(choosing|comparison|promises|redisson|two-minutes)\.md$))/;

/** Packages that stand beside the client, its proofs and its benchmark. */
const besideTheClient =
  /^packages\/(cli|express|fastify|http|nestjs|opentelemetry|redlock-4|site|spec|testing)\//;

export interface Document {
  readonly file: string;
  readonly words: number;
  readonly isForOperators: boolean;
  readonly isForFrameworks: boolean;
  readonly isForLearners: boolean;
  /** The command that writes it, if people do not. */
  readonly writtenBy: string | undefined;
}

/** The Markdown files that are tracked, the longest first. */
export function documents(): readonly Document[] {
  const files = execFileSync("git", ["ls-files", "*.md"], { cwd: root, encoding: "utf8" }).trim().split("\n");
  return files
    .map((file) => ({
      file,
      words: readFileSync(join(root, file), "utf8").split(/\s+/).filter(Boolean).length,
      isForOperators: forOperators.test(file),
      isForFrameworks: forFrameworks.test(file),
      isForLearners: forLearners.test(file),
      writtenBy: generated.find(([pattern]) => pattern.test(file))?.[1],
    }))
    .sort((one, other) => other.words - one.words);
}

export function totalOf(some: readonly Document[]): number {
  return some.reduce((sum, { words }) => sum + words, 0);
}

/** The tracked files that a pattern of `git ls-files` names, and that `isCounted` accepts, together. */
function linesOf(pattern: string, isCounted: (file: string) => boolean = () => true): number {
  const files = execFileSync("git", ["ls-files", pattern], { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n");
  return files
    .filter(isCounted)
    .reduce((sum, file) => sum + readFileSync(join(root, file), "utf8").split("\n").length - 1, 0);
}

if (argv[1] === import.meta.filename) {
  argumentsOf({ usage: "words", about: "counts the words of each document", examples: ["words"] });
  const all = documents();
  for (const { file, words, writtenBy } of all)
    console.log(`${String(words).padStart(6)} ${file}${writtenBy ? ` (${writtenBy})` : ""}`);
  const written = all.filter(({ writtenBy }) => !writtenBy);
  const sumOf = (isOne: (document: Document) => boolean): number => totalOf(written.filter(isOne));
  const operators = sumOf(({ isForOperators }) => isForOperators);
  const frameworks = sumOf(({ isForFrameworks }) => isForFrameworks);
  const learners = sumOf(({ isForLearners }) => isForLearners);
  const client = totalOf(written) - operators - frameworks - learners;
  console.log(
    `${client} words about the client and its proofs, ${operators} for operators, ${frameworks} for frameworks, ` +
      `${learners} that teach, ${totalOf(all) - totalOf(written)} generated`,
  );
  const source = linesOf("packages/redlock/src/*.ts", (file) => !file.endsWith(".test.ts"));
  const beside = linesOf("packages/*.ts", (file) => besideTheClient.test(file));
  console.log(
    `${source} lines of client, ${linesOf("*.ts")} of TypeScript (${beside} in the packages for operators, frameworks, ` +
      `tests and learners, and in the specification), ${linesOf("biome.json")} of biome.json`,
  );
}
