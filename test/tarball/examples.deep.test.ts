import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript-5.9";
import { expect, test } from "vitest";
import { complaintsAbout, fromSource } from "./compiled.ts";

// Every public method and function has an example in its comment, which editors show, and the examples compile.

const client = resolve(import.meta.dirname, "../../packages/redlock/src");
const files = [
  "redlock.ts",
  "holding/lock.ts",
  "primitives/lead.ts",
  "primitives/once.ts",
  "primitives/read-write-lock.ts",
  "primitives/semaphore.ts",
  "settings/backoff.ts",
  "without-scripts/without-scripts.ts",
];

interface Documented {
  readonly name: string;
  readonly examples: readonly string[];
}

/** The names that an example may use without saying where they come from. */
const prelude = `
import { exponentialBackoff, fixedBackoff, Lock, type DetachedLock, Redlock } from "@quorlock/redlock";
import { lead } from "@quorlock/redlock/lead";
import { once, runCoordinator } from "@quorlock/redlock/once";
import { ReadWriteLock, type WriteLock } from "@quorlock/redlock/read-write-lock";
import { Semaphore } from "@quorlock/redlock/semaphore";
import { withoutScripts } from "@quorlock/redlock/without-scripts";
import type { Redis } from "ioredis";
declare const clients: Redis[], newMasters: Redis[], detached: DetachedLock, queue: { add(...given: unknown[]): Promise<void> };
declare const scheduled: Date, signal: AbortSignal;
declare const cron: { setRunCoordinator(coordinator: unknown): void; schedule(...given: unknown[]): void };
declare const url: string, response: { json(value: unknown): void };
declare function load(...given: unknown[]): Promise<string>;
declare function save(...given: unknown[]): Promise<number>;
declare function publish(): Promise<void>;
declare function transfer(signal: AbortSignal): Promise<void>;
declare function work(signal: AbortSignal): Promise<void>;
declare function runDueJobs(signal: AbortSignal): Promise<void>;
declare const redlock: Redlock, lock: Lock, report: ReadWriteLock, semaphore: Semaphore, writing: WriteLock;
`;

function isExported(node: ts.Declaration): boolean {
  return (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Export) !== 0;
}

function documentedIn(file: string): Documented[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(client, file), "utf8"),
    ts.ScriptTarget.ES2022,
    true,
  );
  const found = new Map<string, string[]>();
  const add = (name: string, node: ts.Node): void => {
    const tags = ts.getJSDocTags(node);
    if (tags.some(({ tagName }) => tagName.text === "internal")) return;
    const examples = tags.flatMap(({ tagName, comment }) => {
      const [, code] = /```ts\n(.+?)```/s.exec(ts.getTextOfJSDocComment(comment) ?? "") ?? [];
      return tagName.text === "example" && code !== undefined ? [code] : [];
    });
    found.set(name, [...(found.get(name) ?? []), ...examples]);
  };
  for (const statement of source.statements) {
    if (ts.isFunctionDeclaration(statement) && isExported(statement) && statement.name) {
      add(statement.name.text, statement);
    } else if (ts.isClassDeclaration(statement) && isExported(statement)) {
      for (const member of statement.members) {
        if (ts.isMethodDeclaration(member) && ts.isIdentifier(member.name))
          add(`${statement.name!.text}.${member.name.text}`, member);
      }
    }
  }
  return [...found].map(([name, examples]) => ({ name, examples }));
}

/** For the library's own use, or called by JavaScript itself. */
const withoutExample = ["Lock.toJSON", "pauseBetween", "pauseUntilGone"];

const documented = files.flatMap((file) => documentedIn(file));

test("every public method and function has an example", () => {
  expect(documented.length).toBeGreaterThan(25);
  const missing = documented.filter(({ examples }) => examples.length === 0).map(({ name }) => name);
  expect(missing).toEqual(withoutExample);
});

test("the examples in the comments compile", () => {
  const modules = Object.fromEntries(
    documented.flatMap(({ name, examples }) =>
      examples.map((code) => [`${name}.ts`, `${prelude}export async function example() {\n${code}}\n`]),
    ),
  );
  expect(complaintsAbout({ ...modules, "wrong.ts": `${prelude}redlock.lock("a", 5);` }, fromSource)).toEqual([
    expect.stringMatching(/^wrong\.ts: .*'lock'/),
  ]);
});
