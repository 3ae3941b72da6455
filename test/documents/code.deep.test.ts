import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import ts from "typescript-5.9";
import { expect, test } from "vitest";
import { complaintsAbout, fromSource, linesOfRedlock5 } from "./compiled.ts";

// Every public method and function has an example in its comment, which editors show. The examples and each block of
// TypeScript on the pages compile with the types that users get: in one program, since each compiles the client again.

const repository = resolve(import.meta.dirname, "../..");
const client = join(repository, "packages/redlock/src");
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
const withoutExample = ["Lock.toJSON", "pauseBetween", "timeOfRetries", "maxWaitOf", "pauseUntilGone"];

const documented = files.flatMap((file) => documentedIn(file));

test("every public method and function has an example", () => {
  expect(documented.length).toBeGreaterThan(25);
  const missing = documented.filter(({ examples }) => examples.length === 0).map(({ name }) => name);
  expect(missing).toEqual(withoutExample);
});

/** The modules of the examples, and two that must not compile. */
function examples(): Record<string, string> {
  const modules = documented.flatMap(({ name, examples }) =>
    examples.map((code) => [`${name}.ts`, `${prelude}export async function example() {\n${code}}\n`]),
  );
  return { ...Object.fromEntries(modules), "wrong-example.ts": `${prelude}redlock.lock("a", 5);` };
}

const folder = "packages/redlock/docs";
const pages = [
  "packages/redlock/README.md",
  ...readdirSync(join(repository, folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `${folder}/${file}`),
];

/** The names that a block may use without saying where they come from; a name that it declares hides one. */
const surroundings = `
import { tracingChannel as channel } from "node:diagnostics_channel";
import * as quorlock from "@quorlock/redlock";
import * as jobs from "@quorlock/redlock/once";
import * as ioredis from "ioredis";
declare global {
  const clients: ioredis.Redis[], url: string, urls: string[];
  const redlock: quorlock.Redlock, lock: quorlock.Lock;
  const Redlock: typeof quorlock.Redlock, ResourceLockedError: typeof quorlock.ResourceLockedError;
  type ResourceLockedError = quorlock.ResourceLockedError;
  const Redis: typeof ioredis.Redis, once: typeof jobs.once, runCoordinator: typeof jobs.runCoordinator;
  const tracingChannel: typeof channel;
  const signal: AbortSignal, scheduled: Date, balance: number, message: string;
  const queue: { send(text: string): void };
  const db: { query(sql: string, values: unknown[]): Promise<{ rowCount: number }> };
  function work(signal: AbortSignal): Promise<void>;
  function report(): Promise<void>;
  function onStart(): void;
  function onStop(): void;
  function onError(): void;
  const cron: { setRunCoordinator(given: unknown): void; schedule(when: string, job: unknown, options: object): void };
  const CronJob: { from(options: object): void };
  const Cron: new (when: string, options: object, job: () => unknown) => unknown;
}
`;
const pino =
  "export declare function pino(): { info(...a: unknown[]): void; warn(...a: unknown[]): void; error(...a: unknown[]): void };";

/** The modules of the pages' blocks, and one that must not compile. */
function blocks(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const page of pages) {
    const texts = [...readFileSync(join(repository, page), "utf8").matchAll(/```ts\n(.+?)```/gs)];
    for (const [index, [, code]] of texts.entries())
      found[`${page.replaceAll("/", "-")}-${index}.ts`] =
        `import "./globals.ts";\n${code!.replace('"pino"', '"./pino.ts"')}\nexport {};\n`;
  }
  expect(Object.keys(found).length).toBeGreaterThan(25);
  const wrong = `import "./globals.ts";\nredlock.lock("a", 5);\nexport {};\n`;
  return { ...found, "globals.ts": surroundings, "pino.ts": pino, "wrong-block.ts": wrong };
}

/** The names of redlock 5 that this package lacks, or has by another type. */
const onlyTheirs = linesOfRedlock5.map((code, index) => [
  `theirs-${index}.ts`,
  code.replace('"redlock"', '"@quorlock/redlock"'),
]);

/** The methods of redlock 5 are in the types of `lock.redlock`. */
const owner = `
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

test("the examples in the comments, the blocks on the pages and the calls of redlock 5 compile", () => {
  const modules = { ...examples(), ...blocks(), ...Object.fromEntries(onlyTheirs), "owner.ts": owner };
  const complaints = complaintsAbout(modules, fromSource).sort();
  expect(complaints).toEqual([
    expect.stringMatching(/^theirs-0\.ts: /),
    expect.stringMatching(/^theirs-1\.ts: /),
    expect.stringMatching(/^wrong-block\.ts: .*'lock' does not exist/),
    expect.stringMatching(/^wrong-example\.ts: .*'lock'/),
  ]);
});
