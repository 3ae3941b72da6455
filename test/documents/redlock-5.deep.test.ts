import { readFileSync } from "node:fs";
import ts from "typescript-5.9";
import { expect, test } from "vitest";
import { complaintsAbout, linesOfRedlock5, strict } from "./compiled.ts";

const page = new URL("../../packages/redlock/docs/redlock-5.md", import.meta.url);

test("the code on the page for redlock 5 compiles with redlock 5 too, and with nothing that is in neither", () => {
  const [, block] = /```ts\n(import Redlock.+?)```/s.exec(readFileSync(page, "utf8"))!;
  const code = block!.replace("@quorlock/redlock", "redlock");
  const theirs = { ...strict, moduleResolution: ts.ModuleResolutionKind.Node10 };
  const modules = Object.fromEntries(linesOfRedlock5.map((lines, index) => [`theirs-${index}.ts`, lines]));
  const wrong = `${code}\nawait redlock.lock("a", 5);`;
  expect(complaintsAbout({ ...modules, "page.ts": code, "wrong.ts": wrong }, theirs)).toEqual([
    expect.stringMatching(/^wrong\.ts: .*'lock' does not exist/),
  ]);
});
