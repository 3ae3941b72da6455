import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { catalogue, variantsOf } from "../../packages/spec/src/catalogue.ts";

// The rules of docs/protocol.md, and what cites them.

export const repository: string = resolve(import.meta.dirname, "../..");
export const client = "packages/redlock/src";
export const read = (file: string): string => readFileSync(join(repository, file), "utf8");

export const document: string = read("docs/protocol.md");
export const page = "docs/protocol-evidence.md";

export interface Rule {
  /** Section and place in it, such as "2.6". */
  readonly number: string;
}

/** A rule begins with its number in bold letters. */
export const rules: readonly Rule[] = [...document.matchAll(/^\*\*(\d+\.\d+) /gm)].map(([, number]) => ({
  number: number!,
}));

/** The faults in the specification that TLC refutes, by their names, with the rules that each breaks. */
export const variants: ReadonlyMap<string, readonly string[]> = new Map(
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

const citations = texts
  .filter(({ file }) => file.startsWith(`${client}/`) && !file.endsWith(".test.ts"))
  .map(({ file, text }) => ({ file: file.replace(`${client}/`, ""), cited: new Set(citedIn(text)) }));

/** The files of the client that cite a rule. */
export function codeOf(number: string): readonly string[] {
  const files = citations.filter(({ cited }) => cited.has(number)).map(({ file }) => file);
  return files.sort();
}
