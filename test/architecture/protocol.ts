import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { argv } from "node:process";
import { everyMutant } from "../../packages/simulation/src/mutants/every-mutant.ts";
import { perNodeLimit } from "../../packages/simulation/src/semaphore/per-node-limit.ts";
import { catalogue, variantsOf } from "../../packages/spec/src/catalogue.ts";

// The rules of docs/protocol.md, and what keeps each of them true: collected from the citations in code and tests, and
// from the rules that mutants break. `pnpm protocol` writes it down.

const repository = resolve(import.meta.dirname, "../..");
export const client = "packages/redlock/src";
export const read = (file: string): string => readFileSync(join(repository, file), "utf8");

export const document: string = read("docs/protocol.md");
export const page = "docs/protocol-evidence.md";

export interface Rule {
  /** Section and place in it, such as "2.6". */
  readonly number: string;
  readonly isUnchecked: boolean;
}

/** A rule begins with its number in bold letters; "Not checked." may stand below it. */
export const rules: readonly Rule[] = document.split(/\n{2,}/).flatMap((paragraph, index, paragraphs) => {
  const number = /^\*\*(\d+\.\d+) /.exec(paragraph)?.[1];
  return number === undefined ? [] : [{ number, isUnchecked: paragraphs[index + 1] === "> Not checked." }];
});

/** By their names, the rules that each breaks. */
type Broken = ReadonlyMap<string, readonly string[]>;

/** The faults in the client that the simulator finds; one is a semaphore instead of a change of ours. */
export const clientMutants: Broken = new Map([
  ...everyMutant.map(({ name, breaks }) => [name, breaks] as const),
  [perNodeLimit.name, ["10.1"]] as const,
]);
/** The faults in the specification that TLC refutes. */
export const variants: Broken = new Map(
  catalogue.flatMap((part) => variantsOf(part).map(({ name, breaks }) => [name, breaks] as const)),
);

/** The rules and sections in a list such as "2.6, 5 and 7.2 to 7.4". */
export function numbersIn(text: string): readonly string[] {
  const ranges = text.matchAll(/(\d+)\.(\d+) to \1\.(\d+)/g);
  const between = [...ranges].flatMap(([, section, first, last]) =>
    Array.from({ length: Number(last) - Number(first) }, (_, step) => `${section}.${Number(first) + step}`),
  );
  return [...(text.match(/\d+(\.\d+)?/g) ?? []), ...between];
}

export const list: string = String.raw`\d+(?:\.\d+)?(?:(?:,| and| to)[\s*/]+\d+(?:\.\d+)?)*`;

/** The citations in a file: "PROTOCOL 2.6" anywhere, and "(2.6)" in a comment. */
export function citedIn(text: string): readonly string[] {
  const byName = new RegExp(`PROTOCOL (${list})`, "g");
  const inComments = /^\s*(?:\/\/|\/?\*+) .*?\((\d+\.\d+(?:(?:,| and| to) \d+\.\d+)*)\)/gm;
  const found = [...text.matchAll(byName), ...text.matchAll(inComments)];
  return found.flatMap(([, numbers]) => numbersIn(numbers!));
}

/** All files of the repository that may cite a rule. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return /\.(ts|lua|mjs|js|json|md)$/.test(entry.name) && path !== page ? [path] : [];
    const isOurs = entry.isDirectory() && !/^(node_modules|dist|\..*)$/.test(entry.name);
    return isOurs ? filesIn(path) : [];
  });
}

export const texts: ReadonlyArray<{ readonly file: string; readonly text: string }> = filesIn(".").map(
  (file) => ({
    file,
    text: read(file),
  }),
);

/** Files about citations cite rules as examples: they are no tests of a rule. */
const isTest = (file: string): boolean =>
  /\.test\.ts$|^packages\/testing\/src\/contract\/|^test\/.*\.ts$/.test(file) &&
  !/^test\/(architecture|protocol)|\/src\/mutants\//.test(file);
const isCode = (file: string): boolean => file.startsWith(`${client}/`) && !isTest(file);
const citations = texts.map(({ file, text }) => ({ file, cited: new Set(citedIn(text)) }));

export interface Evidence {
  readonly code: readonly string[];
  readonly mutants: readonly string[];
  readonly variants: readonly string[];
  readonly tests: readonly string[];
}

/** Of a rule, or of a section as a whole. */
export function evidenceOf(number: string): Evidence {
  const files = citations.filter(({ cited }) => cited.has(number)).map(({ file }) => file);
  const namesIn = (broken: Broken): string[] =>
    [...broken].filter(([, breaks]) => breaks.includes(number)).map(([name]) => name);
  return {
    code: files.filter(isCode),
    mutants: namesIn(clientMutants),
    variants: namesIn(variants),
    tests: files.filter(isTest),
  };
}

/** Paths below the client's sources are written without that folder. */
function pathsOf(files: readonly string[]): string[] {
  return files.map((file) => `\`${file.replace(`${client}/`, "")}\``).sort();
}

function quoted(names: readonly string[]): string[] {
  return names.map((name) => `"${name}"`).sort();
}

function lineOf(number: string): string {
  const { code, mutants, variants: refuted, tests } = evidenceOf(number);
  const parts = Object.entries({
    Code: pathsOf(code),
    Mutants: quoted(mutants),
    Variants: quoted(refuted),
    Tests: pathsOf(tests),
  });
  const given = parts.filter(([, items]) => items.length > 0);
  return `- **${number}** ${given.map(([label, items]) => `${label}: ${items.join("; ")}.`).join(" ")}`;
}

export function evidencePage(): string {
  const sections = [...new Set(rules.map(({ number }) => number.split(".")[0]!))];
  const parts = sections.map((section) => {
    const own = rules.map(({ number }) => number).filter((number) => number.startsWith(`${section}.`));
    const lines = [section, ...own].map(lineOf).filter((line) => line.includes(":"));
    return `## Section ${section}\n\n${lines.join("\n")}\n`;
  });
  return `# The evidence of each rule

<!-- Generated by \`pnpm protocol\` from the citations in the code; a test compares them. -->

For each rule of [the protocol](protocol.md), and for each section that is cited as a whole: **code** that serves it;
**mutants**, deliberate faults in the client that the simulator finds; **variants**, faults in the
[specification](specification.md) that its checker refutes; **tests** that cite it. Paths that name no folder of the repository begin in \`${client}\`.

${parts.join("\n")}`;
}

if (argv[1] === import.meta.filename) {
  writeFileSync(join(repository, page), evidencePage());
  console.log(`written to ${page}`);
}
