import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { complaintsAbout, fromSource } from "./compiled.ts";

// Each block of TypeScript on the pages compiles with the types that users get.

const root = resolve(import.meta.dirname, "../..");
const folders = ["packages/redlock/docs", "packages/site/guide"];
const pages = [
  "packages/redlock/README.md",
  ...folders.flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((file) => file.endsWith(".md"))
      .map((file) => `${folder}/${file}`),
  ),
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

test("each block of TypeScript on the pages compiles", () => {
  const modules: Record<string, string> = { "globals.ts": surroundings, "pino.ts": pino };
  for (const page of pages) {
    const blocks = [...readFileSync(join(root, page), "utf8").matchAll(/```ts\n(.+?)```/gs)];
    for (const [index, [, code]] of blocks.entries())
      modules[`${page.replaceAll("/", "-")}-${index}.ts`] =
        `import "./globals.ts";\n${code!.replace('"pino"', '"./pino.ts"')}\nexport {};\n`;
  }
  expect(Object.keys(modules).length).toBeGreaterThan(25);
  const wrong = `import "./globals.ts";\nredlock.lock("a", 5);\nexport {};\n`;
  expect(complaintsAbout({ ...modules, "wrong.ts": wrong }, fromSource)).toEqual([
    expect.stringMatching(/^wrong\.ts: .*'lock' does not exist/),
  ]);
});
