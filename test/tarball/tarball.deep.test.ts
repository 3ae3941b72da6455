import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { bundlesSuite } from "./bundles.ts";
import { userEnvironment } from "./environment.ts";
import { repository } from "./published.ts";
import { runtimesSuite } from "./runtimes.ts";
import { applicationsSuite } from "./servers.ts";

// The client as users get it: packed, installed into an empty folder, and loaded by a plain node.

const run = promisify(execFile);
const client = "packages/redlock";
const clientLibrary = import.meta.resolve("ioredis");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

let folder: string;
const { redlock: tarball = "" } = inject("tarballs");
let installed: string;
let manifest: Manifest;
let files: readonly string[];
/** All that a user imports. */
let subpaths: readonly string[];

async function node(program: string, ...flags: string[]): Promise<string> {
  const args = [...flags, "--input-type=module", "--eval", program];
  const { stdout } = await run(process.execPath, args, { cwd: join(folder, "user"), env: userEnvironment });
  return stdout.trim();
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-tarball-")));
  const user = join(folder, "user");
  await mkdir(user);
  await writeFile(join(user, "package.json"), '{ "private": true }');
  // Offline: nothing else is needed to install it.
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", tarball], { cwd: user });
  installed = join(user, "node_modules/@quorlock/redlock");
  manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  subpaths = Object.keys(manifest.exports)
    .filter((path) => path !== "./package.json")
    .map((path) => join("@quorlock/redlock", path));
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the package brings nothing with it, and holds its modules, their declarations and its documents, no more", async () => {
  expect(manifest.dependencies).toBeUndefined();
  const modules = await readdir(join(folder, "user/node_modules"));
  expect(modules.filter((name) => !name.startsWith("."))).toEqual(["@quorlock"]);
  const names = subpaths.map((path) => path.slice("@quorlock/redlock/".length) || "index");
  const built = [
    ...names.flatMap((name) => [`dist/esm/${name}.js`, `dist/esm/${name}.d.ts`]),
    ...[...names, "redlock"].flatMap((name) => [`dist/cjs/${name}.cjs`, `dist/cjs/${name}.d.cts`]),
  ];
  const pages = await readdir(join(repository, client, "docs"));
  const documents = [
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "skills/quorlock/SKILL.md",
    ...pages.map((page) => `docs/${page}`),
  ];
  const expected = ["package.json", ...documents, ...built, "dist/cjs/tinyqueue.LICENSE"];
  expect([...files].sort()).toEqual(expected.sort());
});

test("the package is at most 210 kB packed, a quarter of it pages", async () => {
  const { size } = await stat(tarball);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(installed, file))).size));
  const unpacked = sizes.reduce((sum, one) => sum + one, 0);
  console.log(`the package: ${files.length} files, ${size} bytes packed, ${unpacked} unpacked`);
  expect(size).toBeLessThanOrEqual(210_000);
});

test("its manifest names no file that is not there", () => {
  const named = [...JSON.stringify(manifest).matchAll(/"\.\/([^"]+)"/g)].map(([, path]) => path!);
  const absent = named.filter(
    (path) => !files.includes(path) && !subpaths.includes(`@quorlock/redlock/${path}`),
  );
  expect(absent).toEqual([]);
  expect(manifest).not.toHaveProperty("devDependencies");
});

// That none is dead: release.deep.test.ts.
test("its README leads to each page of this version", async () => {
  const { name, version } = manifest;
  const address = `https://unpkg.com/${name}@${version}/`;
  const readme = await readFile(join(installed, "README.md"), "utf8");
  const pages = files.filter((file) => /^(docs|skills)\//.test(file));
  expect(pages.length).toBeGreaterThan(20);
  expect(pages.filter((page) => !readme.includes(`](${address}${page})`))).toEqual([]);
});

test("each subpath is imported, all together from few files", async () => {
  expect(subpaths).toHaveLength(8);
  for (const subpath of subpaths) {
    const names = await node(`console.log(Object.keys(await import(${JSON.stringify(subpath)})).length)`);
    expect(Number(names), subpath).toBeGreaterThan(0);
  }
  for (const end of [".js", ".cjs"]) {
    const modules = files.filter((file) => file.endsWith(end));
    expect(modules.length).toBeLessThanOrEqual(subpaths.length + 1);
  }
});

test.each([
  ["import", (name: string) => `await import("${name}")`],
  ["require", (name: string) => `createRequire(import.meta.url)("${name.replace("file://", "")}")`],
])("%s takes at most a third of what a client library takes", async (way, load) => {
  const workOf = async (name: string): Promise<number> => {
    const program = `
      import { createRequire } from "node:module";
      const used = process.cpuUsage();
      ${load(name)};
      const { user, system } = process.cpuUsage(used);
      console.log((user + system) / 1000);
    `;
    return Number(await node(program));
  };
  const shares: number[] = [];
  // In turn: what else the machine does lengthens both.
  for (let round = 0; round < 9; round += 1)
    shares.push((await workOf("@quorlock/redlock")) / (await workOf(clientLibrary)));
  const [low, median, high] = [0, 4, 8].map((index) => shares.sort((a, b) => a - b)[index]!.toFixed(2));
  console.log(`${way}: ${median} (${low} to ${high}) of the CPU time that ioredis takes`);
  expect(Number(median)).toBeLessThan(1 / 3);
});

/** Compilers, with the settings of `module` and `moduleResolution` for Node and for bundlers; the newest has all of them. */
const compilers: readonly (readonly [version: string, manifest: string, modules: readonly string[]])[] = [
  [
    "5.4",
    import.meta.resolve("typescript-5.4/package.json"),
    ["node16/node16", "esnext/bundler", "commonjs/node10"],
  ],
  ["5.9", import.meta.resolve("typescript-5.9/package.json"), ["nodenext/nodenext"]],
  [
    "7",
    import.meta.resolve("typescript/package.json"),
    ["node16/node16", "nodenext/nodenext", "esnext/bundler", "preserve/bundler", "commonjs/bundler"],
  ],
];

describe.each(compilers)("TypeScript %s", (version, compiler, modules) => {
  const tsc = fileURLToPath(new URL("bin/tsc", compiler));
  const oldest = modules.map((module) => [module, "es2020"] as const);
  const cases = [...oldest, ...(version === "7" ? [["nodenext/nodenext", "es2022"] as const] : [])];

  test.each(cases)("accepts the types under %s, target %s, without skipLibCheck", async (module, target) => {
    const [kind, moduleResolution] = module.split("/") as [string, string];
    const user = await mkdtemp(join(folder, "user/types-"));
    const imports = subpaths.map((subpath, at) => `export * as part${at} from ${JSON.stringify(subpath)};`);
    const program = [
      ...imports,
      'import { ExecutionError, Lock, LockLostError, Redlock } from "@quorlock/redlock";',
      'import { Semaphore } from "@quorlock/redlock/semaphore";',
      // The class of one subpath is that of another one, to the compiler too.
      'export const permit = (redlock: Redlock): Promise<Lock> => new Semaphore(redlock, "s", 2).acquire(1000);',
      "export const shown = (error: unknown) => error instanceof LockLostError ? error.why : error instanceof ExecutionError ? error.code : undefined;",
      "export const right: Lock = 1;",
    ];
    await writeFile(join(user, "consumer.ts"), program.join("\n"));
    const types = { types: ["node"], typeRoots: [join(repository, "node_modules/@types")] };
    const compilerOptions = { module: kind, moduleResolution, target, strict: true, noEmit: true, ...types };
    await writeFile(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["consumer.ts"] }));
    const told = await run(process.execPath, [tsc, "-p", user]).catch((error: { stdout: string }) => error);
    const errors = told.stdout.split("\n").filter((line) => line.includes("error TS"));
    // A lock is not a number: types that are missing would let it pass.
    expect(errors).toEqual([expect.stringContaining("Type 'number' is not assignable to type 'Lock'")]);
  });
});

test("require and import load one copy; an error of a second copy is recognized", async () => {
  await cp(installed, join(folder, "second"), { recursive: true });
  const told = await node(`
    import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    const imported = await import("@quorlock/redlock");
    const required = require("@quorlock/redlock");
    const second = require(${JSON.stringify(join(folder, "second/dist/cjs/index.cjs"))});
    class Derived extends imported.RedlockError {}
    const thrownBy = ({ Redlock }) => { try { new Redlock([]); } catch (error) { return error; } };
    const kinds = ["InvalidArgumentError", "RedlockError", "ExecutionError", "LockLostError"];
    console.log(JSON.stringify({
      different: Object.keys(imported).filter((name) => imported[name] !== required[name]),
      isDefault: imported.default === imported.Redlock,
      absent: Object.keys(required).filter((name) => !(name in imported)),
      areTwo: second.Redlock !== imported.Redlock,
      ofSecond: kinds.filter((kind) => thrownBy(second) instanceof imported[kind]),
      ofFirst: kinds.filter((kind) => thrownBy(imported) instanceof second[kind]),
      lost: kinds.filter((kind) => new second.LockLostError(["a"], "gone") instanceof imported[kind]),
      derived: thrownBy(second) instanceof Derived,
    }));
  `);
  expect(JSON.parse(told)).toEqual({
    different: [],
    isDefault: true,
    absent: [],
    areTwo: true,
    ofSecond: ["InvalidArgumentError", "RedlockError"],
    ofFirst: ["InvalidArgumentError", "RedlockError"],
    lost: ["RedlockError", "ExecutionError", "LockLostError"],
    derived: false,
  });
});

test("Jest runs it with its default settings, by require()", async () => {
  await using masters = await startMasters(3, { say: () => {} });
  const program = `
    const { LockLostError, Redlock, RedlockError } = require("@quorlock/redlock");
    const { Semaphore } = require("@quorlock/redlock/semaphore");
    const { Redis } = require(${JSON.stringify(fileURLToPath(clientLibrary))});
    test("locks", async () => {
      const redlock = new Redlock(${JSON.stringify(masters.urls)}.map((url) => new Redis(url)));
      const lock = await redlock.acquire("jest", 10000);
      expect((await lock.release()).outcome).toBe("released");
      expect(new LockLostError(["a"], "gone")).toBeInstanceOf(RedlockError);
      const permit = await new Semaphore(redlock, "permits", 1).acquire(10000);
      await permit.release();
      await redlock.quit();
    });`;
  await writeFile(join(folder, "user/lock.test.js"), program);
  const jest = fileURLToPath(import.meta.resolve("jest/bin/jest"));
  const { stderr } = await run(process.execPath, [jest, "--rootDir", join(folder, "user")], {
    cwd: join(folder, "user"),
    env: userEnvironment,
  });
  expect(stderr).toContain("Tests:       1 passed, 1 total");
});

test("declarations are bundled, with their comments, and without what is internal", async () => {
  const declarations = files.filter((file) => file.endsWith(".d.cts"));
  const texts = await Promise.all(declarations.map((file) => readFile(join(installed, file), "utf8")));
  const text = texts.join("\n");
  expect(text).toContain("* Locks all of `resources`, or none, for `ttl` ms.");
  expect(text).toContain("tryAcquire(");
  expect(text).not.toMatch(/@internal|leaseOf|internalsOf|limitTo|whyEnded/);
});

test("a stack trace names the functions of the source, and leads to a line below the path of its file", async () => {
  const program = `
    import { Redlock } from "@quorlock/redlock";
    try { new Redlock([]); } catch (error) { console.log(error.stack); }
  `;
  const frames = (await node(program)).split("\n").slice(1);
  const [first, ...others] = frames.map((frame) => {
    const found = /at (?:new )?(?<name>[\w.]+) \((?:file:\/\/)?(?<file>.+):(?<line>\d+):\d+\)$/.exec(frame);
    return found?.groups as { name: string; file: string; line: string } | undefined;
  });
  expect(others.map((frame) => frame?.name)).toContain("Redlock");
  const built = (await readFile(first!.file, "utf8")).split("\n").slice(0, Number(first!.line));
  expect(built.at(-1)).toContain("throw new InvalidArgumentError(");
  const heads = built.filter((line) => line.startsWith("// src/"));
  const source = await readFile(join(repository, client, heads.at(-1)!.slice("// ".length)), "utf8");
  expect(source).toContain(`function ${first!.name}(`);
});

test("all subpaths have the same classes", async () => {
  const masters: Masters = await startMasters(3, { say: () => {} });
  try {
    const urls = JSON.stringify(masters.urls);
    const told = await node(`
      import { InvalidArgumentError, Lock, Redlock, RedlockError } from "@quorlock/redlock";
      import { lead } from "@quorlock/redlock/lead";
      import { once } from "@quorlock/redlock/once";
      import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
      import { Semaphore } from "@quorlock/redlock/semaphore";
      import { withoutScripts } from "@quorlock/redlock/without-scripts";
      const { Cluster, Redis } = await import(${JSON.stringify(clientLibrary)});
      const clients = ${urls}.map((url) => new Redis(url));
      const redlock = new Redlock(clients);
      const is = {};
      const ended = new AbortController();
      await lead(redlock, "leader", 2000, () => ended.abort(), {
        signal: ended.signal,
        onStart(lock) { is.lead = lock instanceof Lock; },
      });
      await once(redlock, "job", { keepFor: 2000 }, (_, lock) => {
        is.once = lock instanceof Lock;
      });
      const permit = await new Semaphore(redlock, "permits", 2).acquire(2000);
      is.semaphore = permit instanceof Lock;
      await permit.release();
      const reading = await new ReadWriteLock(redlock, "document").read(2000);
      is.readWriteLock = reading instanceof Lock;
      await reading.release();
      const plain = await new Redlock(withoutScripts(clients)).acquire("plain", 2000);
      is.withoutScripts = plain instanceof Lock;
      await plain.release();
      const refused = (act) => { try { act(); } catch (error) { return error instanceof InvalidArgumentError && error instanceof RedlockError; } };
      is.errors = [
        refused(() => new Semaphore(redlock, "", 1)),
        refused(() => new ReadWriteLock(redlock, "")),
        refused(() => withoutScripts([new Cluster([{ port: 1 }], { lazyConnect: true })])),
        await lead(redlock, "leader", -1, () => {}).catch((error) => error instanceof InvalidArgumentError),
        await once(redlock, "job", { keepFor: -1 }, () => {}).catch((error) => error instanceof InvalidArgumentError),
      ];
      console.log(JSON.stringify(is));
      for (const client of clients) client.disconnect();
    `);
    expect(JSON.parse(told)).toEqual({
      lead: true,
      once: true,
      semaphore: true,
      readWriteLock: true,
      withoutScripts: true,
      errors: [true, true, true, true, true],
    });
  } finally {
    await masters.stop();
  }
});

bundlesSuite(() => folder);
applicationsSuite(() => folder);
runtimesSuite(
  () => folder,
  () => tarball,
);
