import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

// A title is a sentence about the thing tested, so that a search for the rule finds the test: a case completes the titles
// that it stands in, and none goes on from the case before.

const root = join(import.meta.dirname, "../..");

interface Title {
  readonly place: string;
  readonly text: string;
  /** Whether it stands in no other. */
  readonly isOutermost: boolean;
}

/** Titles of groups and cases, rows of tables included, in formatted code. */
const titled =
  /^( *)(?:(?:describe|it|test)(?:\.\w+)*|.*\b(?:describe|it|test)(?:\.\w+)*\.each\(.*\)|\](?: as const)?\))\(\s*["`]([^"`]+)/gm;

const files = execFileSync("git", ["ls-files", "*.test.ts"], { cwd: root, encoding: "utf8" })
  .trim()
  .split("\n");
const titles = files.flatMap((file): readonly Title[] =>
  [...readFileSync(join(root, file), "utf8").matchAll(titled)].map(([, indent, text = ""]) => ({
    place: `${file}: ${text}`,
    text,
    isOutermost: indent === "",
  })),
);

const placesOf = (found: readonly Title[]): readonly string[] => found.map(({ place }) => place);

describe("the title of a test", () => {
  it("never begins with a conjunction, as if it went on from another one", () => {
    const goesOn = titles.filter(({ text }) => /^(and|but|nor|or|so|then|yet)\b/i.test(text));
    expect(placesOf(goesOn)).toEqual([]);
  });

  it("has its subject, or stands in one that has it", () => {
    const verb =
      /^(is|are|was|were|has|have|does|do|can|may|must|needs?|keeps?|takes?|gives?|goes|comes?|makes?|lets?|holds?|counts|returns|prints|works|ends|exclude|differs|it|they)\b/;
    expect(placesOf(titles.filter(({ text, isOutermost }) => isOutermost && verb.test(text)))).toEqual([]);
  });

  it("is read from every file", () => {
    expect(new Set(titles.map(({ place }) => place.split(":")[0])).size).toBeGreaterThan(0.9 * files.length);
    expect(titles.length).toBeGreaterThan(1000);
  });
});
