import { execFile } from "node:child_process";
import { mkdir, mkdtemp, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMasters } from "@quorlock/testbed";
import { beforeAll, describe, expect, test } from "vitest";
import { runtimes } from "../process/runtimes.ts";
import { userEnvironment } from "./environment.ts";

// The packed package does its main things under each runtime, with each client library that the runtime has.

const run = promisify(execFile);

/** Takes the name of a library and the masters; prints what came of each thing. */
const program = `
  import { Redlock, ResourceLockedError } from "@quorlock/redlock";
  import { lead } from "@quorlock/redlock/lead";
  import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
  import { Semaphore } from "@quorlock/redlock/semaphore";

  const [library, ...urls] = process.argv.slice(2);
  const makers = {
    ioredis: async () => (({ Redis }) => (url) => new Redis(url))(await import("ioredis")),
    iovalkey: async () => (({ Redis }) => (url) => new Redis(url))(await import("iovalkey")),
    "node-redis": async () => (({ createClient }) => (url) => createClient({ url }))(await import("redis")),
  };
  const make = await makers[library]();
  const open = (options) => new Redlock(urls.map(make), { reentrant: true, fencing: true, ...options });
  const [first, second] = [open(), open()];
  const ttl = 20_000;
  const found = {};

  const held = await first.acquire("sale", ttl);
  found.lock = await held.verify();
  found.refused = await second.acquire("sale", ttl, { retryCount: 0 }).catch((error) => error instanceof ResourceLockedError);
  const waiting = second.acquire("sale", ttl, { retryCount: -1 });
  while (!(await first.inspect("sale")).some(({ queueLength }) => queueLength === 1));
  await held.release();
  const next = await waiting;
  found.wait = next.fencingToken > held.fencingToken;
  await next.extend(ttl);
  found.release = (await next.release()).outcome;
  found.using = await first.using("nested", ttl, async () => {
    const inner = await first.acquire("nested", ttl);
    await inner.release();
    return "reentrant";
  });
  const semaphore = new Semaphore(first, "permits", 1);
  const permit = await semaphore.acquire(ttl);
  found.semaphore = await new Semaphore(second, "permits", 1).tryAcquire(ttl);
  await permit.release();
  const readers = [new ReadWriteLock(first, "page"), new ReadWriteLock(second, "page")];
  const reads = await Promise.all(readers.map((each) => each.read(ttl)));
  found.readers = reads.length;
  await Promise.all(reads.map((each) => each.release()));
  const leaving = new AbortController();
  found.lead = await new Promise((resolve) => {
    void lead(first, "leader", ttl, async (signal) => {
      resolve("led");
      await new Promise((over) => signal.addEventListener("abort", over, { once: true }));
    }, { signal: leaving.signal }).catch(() => {});
  });
  leaving.abort();
  await Promise.all([first.quit(), second.quit()]);
  console.log(JSON.stringify(found));
`;

/** The first lock of a new user, with each library. */
const firstLocks: Readonly<Record<string, string>> = {
  ioredis: `import { Redis } from "ioredis";
const clients = urls.map((url) => new Redis(url));`,
  iovalkey: `import { Redis } from "iovalkey";
const clients = urls.map((url) => new Redis(url));`,
  redis: `import { createClient } from "redis";
const clients = urls.map((url) => createClient({ url }));`,
};

function firstLock(library: string): string {
  return `import { Redlock } from "@quorlock/redlock";
const urls = process.argv.slice(2);
${firstLocks[library]}
const redlock = new Redlock(clients);
const lock = await redlock.acquire("invoice:42", 10_000);
console.log(await lock.verify());
await lock.release();
await redlock.quit();
`;
}

const everything = {
  lock: true,
  refused: true,
  wait: true,
  release: "released",
  using: "reentrant",
  semaphore: null,
  readers: 2,
  lead: "led",
};

export function runtimesSuite(folderOf: () => string, tarballOf: () => string): void {
  describe("the package", () => {
    let file: string;

    beforeAll(async () => {
      const user = join(folderOf(), "user");
      file = join(user, "runtime.mjs");
      await writeFile(file, program);
      await mkdir(join(user, "node_modules"), { recursive: true });
      for (const library of ["ioredis", "iovalkey", "redis"]) {
        const installed = join(fileURLToPath(import.meta.resolve(`${library}/package.json`)), "..");
        await symlink(installed, join(user, "node_modules", library));
      }
    });

    test.each(Object.keys(firstLocks))("is installed with %s and holds a lock", async (library) => {
      await using masters = await startMasters(3, { say: () => {} });
      const user = await mkdtemp(join(folderOf(), "new-user-"));
      await writeFile(join(user, "package.json"), "{}");
      await writeFile(join(user, "lock.mjs"), firstLock(library));
      const options = { cwd: user, env: userEnvironment, timeout: 120_000 };
      const begun = performance.now();
      await run("npm", ["install", "--no-audit", "--no-fund", tarballOf(), library], options);
      const { stdout } = await run(process.execPath, ["lock.mjs", ...masters.urls], options);
      const lines = firstLock(library).trim().split("\n").length;
      console.log(`${library}: ${((performance.now() - begun) / 1000).toFixed(1)} s, ${lines} lines`);
      expect(stdout).toBe("true\n");
      expect(lines).toBeLessThanOrEqual(10);
    });

    test.each([
      ["Node", "ioredis"],
      ["Node", "iovalkey"],
      ["Node", "node-redis"],
      ["Node 22", "ioredis"],
      ["Node 24", "ioredis"],
      ["Bun", "ioredis"],
      ["Bun", "iovalkey"],
      ["Bun", "node-redis"],
      ["Deno", "ioredis"],
      ["Deno", "iovalkey"],
      ["Deno", "node-redis"],
    ])("under %s, with %s, does its main things", async (runtime, library) => {
      await using masters = await startMasters(3, { say: () => {} });
      const [binary, ...args] = await runtimes[runtime]!(folderOf());
      const { stdout } = await run(binary, [...args, file, library, ...masters.urls], {
        cwd: join(file, ".."),
        env: userEnvironment,
        timeout: 60_000,
      });
      expect(JSON.parse(stdout)).toEqual(everything);
    });

    test("under Bun, refuses the client of Bun, and says what to pass instead", async () => {
      const [binary, ...args] = await runtimes["Bun"]!(folderOf());
      const refused = join(file, "../refused.mjs");
      const code = `
        import { InvalidArgumentError, Redlock } from "@quorlock/redlock";
        try {
          new Redlock([new Bun.RedisClient("redis://localhost:1")]);
        } catch (error) {
          if (error instanceof InvalidArgumentError) console.log(error.message);
        }
      `;
      await writeFile(refused, code);
      const options = { cwd: join(file, ".."), env: userEnvironment, timeout: 60_000 };
      const { stdout } = await run(binary, [...args, refused], options);
      expect(stdout).toContain("client 0 is a RedisClient of Bun");
      expect(stdout).toContain("pass a client of ioredis or node-redis: both run on Bun");
    });
  });
}
