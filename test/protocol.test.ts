import { describe, expect, test } from "vitest";
import {
  citedIn,
  client,
  document,
  list,
  numbersIn,
  page,
  read,
  rules,
  texts,
  variants,
} from "./architecture/protocol.ts";
import { evidencePage, measuredIn, mutants } from "./behaviours/evidence-page.ts";
import { unobservable } from "./behaviours/unobservable.ts";

// docs/protocol.md, the code that cites it, and the faults that show which rules matter.

const sections: ReadonlySet<string> = new Set(
  [...document.matchAll(/^## (\d+)\. /gm)].map(([, number]) => number!),
);
const known: ReadonlySet<string> = new Set([...sections, ...rules.map(({ number }) => number)]);
/** They leave the word PROTOCOL out: "(2.6)", "rule 2.6". */
const documents = ["docs/protocol.md", "docs/specification.md"];

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

  test("each mutant breaks rules that there are", () => {
    for (const broken of [mutants, variants]) {
      expect(
        [...broken].filter(([, breaks]) => breaks.length === 0 || !breaks.every((rule) => known.has(rule))),
      ).toEqual([]);
      expect(broken.size).toBeGreaterThan(20);
    }
  });

  test("what fails when each of them is broken is written down: `pnpm evidence`", () => {
    expect(read(page)).toBe(evidencePage(measuredIn(read(page))));
  });

  test("are each broken by a fault that a case of the rule itself shows", () => {
    const text = read(page);
    const unseen = rules.filter(({ number }) => !text.includes(`**${number}** (`));
    expect(unseen.map(({ number }) => number)).toEqual(Object.keys(unobservable));
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
