import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript-5.9";
import { expect, test } from "vitest";
import { complaintsAbout, fromSource, strict } from "../tarball/compiled.ts";

// The code on the pages for users of other libraries compiles; that for redlock 5 also against redlock 5.

const docs = resolve(import.meta.dirname, "../../packages/redlock/docs");

/** The blocks of TypeScript on a page. */
function blocksOf(page: string): string[] {
  const blocks = [...readFileSync(join(docs, page), "utf8").matchAll(/```ts\n(.+?)```/gs)];
  return blocks.map(([, code]) => code!);
}

/** Code that compiles with redlock 5 only, as the page says. */
const onlyTheirs = [
  `redlock.on("other", () => {});`,
  `new Redlock(redlock.clients, {}, { acquireScript: (script: string) => script });`,
].map((line) => {
  const declarations = "declare const redlock: Redlock;\ndeclare const lock: Lock;";
  return `import Redlock, { type Lock } from "redlock";\n${declarations}\n${line}`;
});

test("the code on the pages compiles", () => {
  const modules: Record<string, string> = {};
  for (const page of ["redlock-5.md", "redlock-4.md", "other-libraries.md"]) {
    for (const [index, block] of blocksOf(page).entries()) modules[`${page}-${index}.ts`] = block;
  }
  expect(Object.keys(modules)).toHaveLength(4);
  for (const [index, code] of onlyTheirs.entries()) {
    modules[`theirs-${index}.ts`] = code.replace('"redlock"', '"@quorlock/redlock"');
  }
  const files = complaintsAbout(modules, fromSource).map((complaint) => complaint.split(":")[0]);
  expect(files).toEqual(["theirs-0.ts", "theirs-1.ts"]);
});

test("the code for redlock 5 compiles with redlock 5 too, and with nothing that is in neither", () => {
  const [block] = blocksOf("redlock-5.md");
  const code = block!.replace("@quorlock/redlock", "redlock");
  const theirs = { ...strict, moduleResolution: ts.ModuleResolutionKind.Node10 };
  const modules = Object.fromEntries(onlyTheirs.map((lines, index) => [`theirs-${index}.ts`, lines]));
  const wrong = `${code}\nawait redlock.lock("a", 5);`;
  expect(complaintsAbout({ ...modules, "page.ts": code, "wrong.ts": wrong }, theirs)).toEqual([
    expect.stringMatching(/^wrong\.ts: .*'lock' does not exist/),
  ]);
});

test("lock.redlock has the methods of redlock 5 in the types", () => {
  const code = `
import Redlock, { type Lock } from "@quorlock/redlock";
declare const lock: Lock;
const settings: number = lock.redlock.settings.retryCount;
await lock.redlock.using(["a"], 5000, async (signal) => signal.error);
await lock.redlock.using(["a"], 5000, { retryCount: settings }, async (signal) => signal.aborted);
lock.redlock.on("error", (error: Error) => console.error(error.message));
await lock.redlock.release(await lock.redlock.extend(await lock.redlock.acquire(["a"], 5000), 5000));
await lock.redlock.quit();
export type { Redlock };
`;
  expect(complaintsAbout({ "owner.ts": code }, fromSource)).toEqual([]);
});
