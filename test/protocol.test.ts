import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { catalogue } from "../packages/models/src/catalogue.ts";
import { everyMutant } from "../packages/simulation/src/mutants/every-mutant.ts";
import { semaphoreMutantNames } from "../packages/simulation/src/semaphore/mutants.ts";

// docs/protocol.md, the code that cites it, and the faults that show which rules matter name each other.

const repository = resolve(import.meta.dirname, "..");
const client = "packages/redlock/src";
const read = (file: string): string => readFileSync(join(repository, file), "utf8");

/** The faults in the client that the simulator finds. */
const clientMutants: ReadonlySet<string> = new Set([
  ...everyMutant.map(({ name }) => name),
  // A semaphore of its own, not a change of ours, is among these.
  ...semaphoreMutantNames,
]);
/** The faults in the models that an exhaustive search finds. */
const modelMutants: ReadonlySet<string> = new Set(
  catalogue.flatMap((check) => check.mutants.map(({ name }) => name)),
);

interface Rule {
  /** Section and place in it, such as "2.6". */
  readonly number: string;
  readonly code: readonly string[];
  readonly mutants: readonly string[];
  readonly models: readonly string[];
  readonly tests: readonly string[];
  readonly isUnchecked: boolean;
}

const document = read("docs/protocol.md");
const rules = rulesIn(document);
const sections: ReadonlySet<string> = new Set(
  [...document.matchAll(/^## (\d+)\. /gm)].map(([, number]) => number!),
);
const known: ReadonlySet<string> = new Set([...sections, ...rules.map(({ number }) => number)]);

/** A rule begins with its number in bold letters; the quotation behind it says what keeps it true. */
function rulesIn(text: string): readonly Rule[] {
  const paragraphs = text.split(/\n{2,}/);
  return paragraphs.flatMap((paragraph, index) => {
    const number = /^\*\*(\d+\.\d+) /.exec(paragraph)?.[1];
    if (number === undefined) return [];
    const next = paragraphs[index + 1] ?? "";
    const evidence = next.startsWith("> ") ? next.replaceAll(/\n?> /g, " ") : "";
    const part = (label: string): string =>
      new RegExp(`${label}: (.*?)\\.(?= (?:Code|Mutants|Models|Tests): |$)`).exec(evidence)?.[1] ?? "";
    const quoted = (label: string): string[] =>
      [...part(label).matchAll(/"(.+?)"/g)].map(([, name]) => name!);
    const paths = (label: string): string[] => [...part(label).matchAll(/`(.+?)`/g)].map(([, path]) => path!);
    return {
      number,
      code: paths("Code"),
      mutants: quoted("Mutants"),
      models: quoted("Models"),
      tests: paths("Tests"),
      isUnchecked: evidence.includes("Not checked."),
    };
  });
}

/** The rules and sections in a list such as "2.6, 5 and 7.2 to 7.4". */
function numbersIn(list: string): readonly string[] {
  const ranges = list.matchAll(/(\d+)\.(\d+) to \1\.(\d+)/g);
  const between = [...ranges].flatMap(([, section, first, last]) =>
    Array.from({ length: Number(last) - Number(first) }, (_, step) => `${section}.${Number(first) + step}`),
  );
  return [...(list.match(/\d+(\.\d+)?/g) ?? []), ...between];
}

const list = String.raw`\d+(?:\.\d+)?(?:(?:,| and| to)[\s*/]+\d+(?:\.\d+)?)*`;

/** The citations in a file: "PROTOCOL 2.6" anywhere, and "(2.6)" in a comment. */
function citedIn(text: string): readonly string[] {
  const byName = new RegExp(`PROTOCOL (${list})`, "g");
  const inComments = /^\s*(?:\/\/|\/?\*+) .*?\((\d+\.\d+(?:(?:,| and| to) \d+\.\d+)*)\)/gm;
  const found = [...text.matchAll(byName), ...text.matchAll(inComments)];
  return found.flatMap(([, numbers]) => numbersIn(numbers!));
}

/** All files of the repository that may cite a rule. */
function filesIn(folder: string): readonly string[] {
  return readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isFile()) return /\.(ts|mjs|js|json|md)$/.test(entry.name) ? [path] : [];
    const isOurs = entry.isDirectory() && !/^(node_modules|dist|\..*)$/.test(entry.name);
    return isOurs ? filesIn(path) : [];
  });
}

const texts = filesIn(".").map((file) => ({ file, text: read(file) }));
/** They leave the word PROTOCOL out: "(2.6)", "rule 2.6". */
const documents = ["docs/protocol.md", "packages/models/README.md"];

/** A path as a rule gives it. */
function isThere(path: string): boolean {
  return existsSync(join(repository, /^(test|packages)\//.test(path) ? path : join(client, path)));
}

describe("the rules", () => {
  test("are numbered without a gap, section by section", () => {
    const expected = rules.map(({ number }, index) => {
      const [section, place] = number.split(".").map(Number) as [number, number];
      const [before, last] = (rules[index - 1]?.number ?? "0.0").split(".").map(Number) as [number, number];
      return section === before ? place === last + 1 : section === before + 1 && place === 1;
    });
    expect(rules.filter((_, index) => !expected[index])).toEqual([]);
    expect(new Set(rules.map(({ number }) => number.split(".")[0]))).toEqual(sections);
    expect(rules.length).toBeGreaterThan(80);
  });

  test("each has a mutant or a test, or says that it has none", () => {
    const bare = rules.filter(
      ({ isUnchecked, ...rule }) => isUnchecked === rule.mutants.concat(rule.models, rule.tests).length > 0,
    );
    expect(bare).toEqual([]);
  });

  test("name files that exist", () => {
    const missing = rules.flatMap(({ number, code, tests }) =>
      [...code, ...tests].filter((path) => !isThere(path)).map((path) => `${number}: ${path}`),
    );
    expect(missing).toEqual([]);
  });

  test("name mutants that exist, and every mutant is named", () => {
    for (const [key, names] of [["mutants", clientMutants] as const, ["models", modelMutants] as const]) {
      const named = new Set(rules.flatMap((rule) => rule[key]));
      expect([...named].filter((name) => !names.has(name))).toEqual([]);
      expect([...names].filter((name) => !named.has(name))).toEqual([]);
      expect(names.size).toBeGreaterThan(20);
    }
  });

  test("are cited by the code that they name", () => {
    const silent = rules.flatMap(({ number, code }) =>
      code
        .filter((path) => existsSync(join(repository, client, path)))
        .filter((path) => {
          const cited = citedIn(read(join(client, path)));
          return !cited.includes(number) && !cited.includes(number.split(".")[0]!);
        })
        .map((path) => `${path} does not cite ${number}`),
    );
    expect(silent).toEqual([]);
  });
});

describe("what cites the protocol", () => {
  test("cites rules that there are", () => {
    const cited = texts.flatMap(({ file, text }) => citedIn(text).map((number) => ({ file, number })));
    expect(cited.filter(({ number }) => !known.has(number))).toEqual([]);
    expect(cited.length).toBeGreaterThan(150);
  });

  test("does not begin a comment with a bare number", () => {
    const bare = new RegExp(String.raw`^\s*(?://|/?\*+) ${list}:? [A-Z].*`, "gm");
    const found = texts
      .filter(({ file }) => file.startsWith(client))
      .flatMap(({ file, text }) => [...text.matchAll(bare)].map(([line]) => `${file}: ${line.trim()}`));
    expect(found).toEqual([]);
  });

  test("in a document means a rule by a number in parentheses", () => {
    const mention = new RegExp(
      String.raw`(?:(?<!\w)\((?:rules? |sections? )?|\b(?:rules?|sections?) )(${list})`,
      "g",
    );
    const cited = documents.flatMap((file) =>
      [...read(file).matchAll(mention)].flatMap(([, found]) =>
        numbersIn(found!).map((number) => ({ file, number })),
      ),
    );
    expect(cited.filter(({ number }) => !known.has(number))).toEqual([]);
    expect(cited.length).toBeGreaterThan(40);
  });
});
