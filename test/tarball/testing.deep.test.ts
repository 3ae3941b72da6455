import { execFile } from "node:child_process";
import { realpathSync } from "node:fs";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { runtimes } from "../process/runtimes.ts";
import { keptReports, reportsIn, writeReports } from "./api-reports.ts";
import { userEnvironment } from "./environment.ts";
import { repository } from "./published.ts";

// The packages beside the client as users get them: packed, installed into an empty folder beside the client, and used there.

const run = promisify(execFile);
const names = ["redlock", "simulation", "testing", "opentelemetry"] as const;
type Name = (typeof names)[number];
const ioredis = fileURLToPath(import.meta.resolve("ioredis"));

let folder: string;
let user: string;

async function node(program: string): Promise<string> {
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: user,
    env: userEnvironment,
  });
  return stdout.trim();
}

/** Files of an installed package. */
async function filesOf(name: Name): Promise<string[]> {
  const installed = join(user, "node_modules/@quorlock", name);
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name: file }) => join(parentPath, file).slice(installed.length + 1))
    .sort();
}

/** The folder of a package that `user` installs. */
function folderOf(dependency: string, of: Name): string {
  return realpathSync(join(repository, "packages", of, "node_modules", dependency));
}

const tarballOf = (name: Name): string => inject("tarballs")[name]!;

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-testing-")));
  user = join(folder, "user");
  await mkdir(user);
  await writeFile(join(user, "package.json"), '{ "private": true }');
  // The only packages that the registry would be asked for.
  const tinypool = folderOf("tinypool", "simulation");
  const api = folderOf("@opentelemetry/api", "opentelemetry");
  const offline = ["install", "--offline", "--no-audit", "--no-fund"];
  await run("npm", [...offline, ...names.map(tarballOf), tinypool, api], { cwd: user });
}, 600_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test.each(names)("the API reports of %s are those that are kept", async (name) => {
  // Outside of node_modules, where all that is imported would count as another package's.
  const built = join(folder, "built", name);
  await cp(join(user, "node_modules/@quorlock", name), built, { recursive: true });
  await symlink(join(user, "node_modules"), join(built, "node_modules"));
  await writeReports(built, join(built, "api"));
  expect(reportsIn(join(built, "api")), "`pnpm run api` writes them").toEqual(reportsIn(keptReports(name)));
});

test.each([
  [
    "testing",
    /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|dist\/(esm\/[\w-]+(\.d\.ts|\.js)|cjs\/[\w-]+(\.d\.cts|\.cjs)|(esm|cjs)\/[\w-]+\.LICENSE))$/,
    100_000,
  ],
  [
    "simulation",
    /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|dist\/(esm\/[\w-]+(\.d\.ts|\.js|\.txt|\.css)|cjs\/[\w-]+(\.d\.cts|\.cjs)|(esm|cjs)\/[\w-]+\.LICENSE))$/,
    326_000,
  ],
  [
    "opentelemetry",
    /^(package\.json|README\.md|CHANGELOG\.md|LICENSE|dist\/(esm\/index(\.d\.ts|\.js)|cjs\/index(\.d\.cts|\.cjs)))$/,
    20_000,
  ],
] as const)(
  "%s holds what is built, and nothing that only its repository can use",
  async (name, expected, most) => {
    const files = await filesOf(name);
    expect(files.filter((file) => !expected.test(file))).toEqual([]);
    const manifest = await readFile(join(user, "node_modules/@quorlock", name, "package.json"), "utf8");
    expect(manifest).not.toMatch(
      /workspace:|catalog:|quorlock-source|devDependencies|quorlockPrograms|scripts|\.\/src/,
    );
    // Those of one version belong together.
    const { version, peerDependencies } = JSON.parse(manifest) as {
      version: string;
      peerDependencies: object;
    };
    expect(peerDependencies).toMatchObject({ "@quorlock/redlock": version });
    const named = [...manifest.matchAll(/"\.\/(dist[^"]+)"/g)].map(([, path]) => path!);
    expect(named.filter((path) => !files.includes(path))).toEqual([]);
    const texts = await Promise.all(
      files.map((file) => readFile(join(user, "node_modules/@quorlock", name, file), "utf8")),
    );
    expect(texts.filter((text) => /\bfrom ["'](esbuild|@typescript|redlock|tsx)/.test(text))).toEqual([]);
    const { size } = await stat(tarballOf(name));
    console.log(`@quorlock/${name}: ${files.length} files, ${size} bytes packed`);
    expect(size).toBeLessThan(most);
  },
);

test("spans of a lock, by import and by require, and one registration for both", async () => {
  const told = await node(`
    import { createRequire } from "node:module";
    import * as imported from "@quorlock/opentelemetry";
    import { fakeRedlock } from "@quorlock/testing";
    const required = createRequire(import.meta.url)("@quorlock/opentelemetry");
    const names = [];
    const span = { setAttribute() {}, setStatus() {}, end() {} };
    const tracer = { startSpan: (name) => (names.push(name), span) };
    for (const one of [imported, required]) {
      const stop = one.register({ tracerProvider: { getTracer: () => tracer }, meterProvider: false });
      for (const { register } of [imported, required]) try { register(); } catch { names.push("refused"); }
      const redlock = fakeRedlock();
      one.instrument(redlock);
      await redlock.using("r", 1000, async () => names.push("routine"));
      stop();
      await redlock.quit();
    }
    console.log(names.join());
  `);
  const once = "refused,refused,quorlock acquire,quorlock hold,routine,quorlock release";
  expect(told).toBe(`${once},${once}`);
});

/** Client libraries, by their modules. */
const libraries = {
  ioredis: { module: ioredis, client: "new library.Redis(url)" },
  iovalkey: { module: moduleOf("iovalkey"), client: "new library.Redis(url)" },
  "node-redis": { module: moduleOf("redis"), client: "library.createClient({ url })" },
};

function moduleOf(name: string): string {
  return createRequire(import.meta.url).resolve(name);
}

function usersTest(fakeAll: string, fakeTimers: string, requiredFrom: string): string {
  const ofLibraries = Object.entries(libraries).map(
    ([name, { module, client }]) => `
  test("a lock expires when the test says so, ${name}", async () => {
    const library = ${requiredFrom}(${JSON.stringify(module)});
    ${fakeTimers}
    const masters = await startEmbeddedMasters(3);
    const redlock = new Redlock(masters.urls.map((url) => ${client}.on("error", () => {})));
    const lock = await redlock.acquire("r", 10000);
    await advance(5000);
    expect(lock.signal.aborted).toBe(false);
    await advance(5001);
    expect(lock.signal.aborted).toBe(true);
    const next = await redlock.acquire("r", 10000);
    let isOver = false;
    const used = redlock.using("other", 10000, async () => {
      while (!isOver) await new Promise((resolve) => setTimeout(resolve, 1000));
    });
    await advance(60000);
    expect(await redlock.tryAcquire("other", 10000)).toBeNull();
    isOver = true;
    await advance(1000);
    await used;
    await redlock.quit();
    await masters.stop();
  });`,
  );
  return `${ofLibraries.join("")}
  test("a lock of a fake expires when the test says so", async () => {
    ${fakeAll}
    const redlock = fakeRedlock();
    const lock = await redlock.acquire("r", 10000);
    await advance(10001);
    expect([lock.state, (await redlock.tryAcquire("r", 10000)) === null]).toEqual(["lost", false]);
  });`;
}

interface Counts {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numTotalTests: number;
}

/** Runs test files of the user; those that fail are counted too. */
async function counts(runner: readonly string[]): Promise<Counts> {
  const ended = await run(process.execPath, [...runner], {
    cwd: user,
    env: userEnvironment,
    maxBuffer: 2 ** 26,
    // One that hangs fails, and is ended.
    timeout: 120_000,
  }).catch((error: { stdout: string }) => error);
  return JSON.parse(ended.stdout.slice(ended.stdout.indexOf("{"))) as Counts;
}

/** Five seconds, as is the default, may be too short for a test on a busy machine. */
const patience = "--testTimeout=60000";

function jest(name: string): Promise<Counts> {
  return counts([
    fileURLToPath(import.meta.resolve("jest/bin/jest")),
    "--rootDir",
    user,
    "--json",
    patience,
    name,
  ]);
}

function vitest(name: string): Promise<Counts> {
  const program = join(repository, "node_modules/vitest/vitest.mjs");
  return counts([program, "run", "--root", user, "--globals", "--reporter=json", patience, name]);
}

describe("with fake timers", () => {
  test("under Jest, with its default settings", async () => {
    const program = `
      const { Redlock } = require("@quorlock/redlock");
      const { advance, fakeRedlock, startEmbeddedMasters, timersToKeep } = require("@quorlock/testing");
      ${usersTest("jest.useFakeTimers();", "jest.useFakeTimers({ doNotFake: timersToKeep });", "require")}`;
    await writeFile(join(user, "timers.test.cjs"), program);
    expect(await jest("timers.test")).toMatchObject({ numPassedTests: 4, numTotalTests: 4 });
  });

  test("under Vitest", async () => {
    const program = `
      import { createRequire } from "node:module";
      import { Redlock } from "@quorlock/redlock";
      import { advance, fakeRedlock, startEmbeddedMasters, timersToFake } from "@quorlock/testing";
      const require = createRequire(import.meta.url);
      ${usersTest("vi.useFakeTimers();", "vi.useFakeTimers({ toFake: timersToFake });", "require")}`;
    await writeFile(join(user, "timers.spec.mjs"), program);
    expect(await vitest("timers.spec")).toMatchObject({ numPassedTests: 4, numTotalTests: 4 });
  });
});

function expectOneBroken({ numPassedTests, numFailedTests, numTotalTests }: Counts): void {
  console.log(`contract: ${numPassedTests} passed, ${numFailedTests} failed`);
  expect(numTotalTests).toBeGreaterThan(120);
  expect(numPassedTests + numFailedTests).toBe(numTotalTests);
  expect(numFailedTests).toBeGreaterThan(0);
  expect(numFailedTests).toBeLessThan(5);
}

/** An adapter outside of the package, which does not close. (One that does is in test/contract/exported.deep.test.ts.) */
function author(load: string, framework: string): string {
  return `
    ${load}
    const connect = ({ host, port }) => connectionOf(new Redis(port, host).on("error", () => {}));
    contract({
      name: "broken",
      connect: (address) => Object.defineProperty(connect(address), "close", { value: async () => {} }),
      ${framework.slice(2)}
    });`;
}

describe("the contract for an adapter", () => {
  beforeAll(async () => {
    await build({
      entryPoints: [join(repository, "packages/redlock/src/adapters/client-libraries.ts")],
      outfile: join(user, "adapter.cjs"),
      bundle: true,
      platform: "node",
      format: "cjs",
    });
  });

  test("under Jest, with its globals", async () => {
    const load = `
      const { contract } = require("@quorlock/testing/contract");
      const { connectionOf } = require("./adapter.cjs");
      const { Redis } = require(${JSON.stringify(ioredis)});`;
    await writeFile(join(user, "contract.test.cjs"), author(load, ""));
    expectOneBroken(await jest("contract.test"));
  });

  test("under Vitest, without globals", async () => {
    await symlink(join(repository, "node_modules/vitest"), join(user, "node_modules/vitest"));
    const load = `
      import * as vitest from "vitest";
      import { contract } from "@quorlock/testing/contract";
      import adapter from "./adapter.cjs";
      import ioredis from ${JSON.stringify(ioredis)};
      const { connectionOf } = adapter;
      const { Redis } = ioredis;`;
    await writeFile(join(user, "contract.spec.mjs"), author(load, ", framework: vitest"));
    expectOneBroken(await vitest("contract.spec"));
  });
});

test("simulate() finds the fault of code that writes without a look at its lock", async () => {
  const told = await node(`
    import { simulate } from "@quorlock/simulation";
    import { simulate as same } from "@quorlock/testing";
    const result = await simulate({
      resource: () => ({ value: 0, writes: 0, read() { return this.value; }, write(value) { this.value = value; this.writes += 1; } }),
      invariant: ({ value, writes }) => value === writes ? "" : \`\${writes} writes made \${value}\`,
      async client({ redlock, resource }) {
        const lock = await redlock.acquire("r", 1000);
        await resource.write((await resource.read()) + 1);
        await lock.release();
      },
    });
    console.log(simulate === same, result.verdict, /\\d+ writes made \\d+/.test(result.violation));
  `);
  expect(told).toBe("true violated true");
});

function program(...args: string[]): Promise<{ stdout: string; stderr: string }> {
  return run(join(user, "node_modules/.bin/quorlock-sim"), args, { cwd: user, env: userEnvironment });
}

describe("quorlock-sim", () => {
  test("runs a seed, and draws it", async () => {
    const { stdout } = await program("run", "--seed", "7", "--html", "run.html");
    expect(stdout).toMatch(/ok/);
    const script = await readFile(
      join(user, "node_modules/@quorlock/simulation/dist/esm/viewer.txt"),
      "utf8",
    );
    expect(script.length).toBeGreaterThan(10_000);
    expect(await readFile(join(user, "run.html"), "utf8")).toContain(script);
    const shown = await program("showcase");
    expect(shown.stdout).toContain("npx quorlock-sim showcase --out showcase.html");
    expect(shown.stdout).not.toContain("pnpm");
  });

  test("comes to the same hashes under each version of Node", async () => {
    const file = join(user, "node_modules/@quorlock/simulation/dist/esm/quorlock-sim.js");
    const hashes = async (binary: string): Promise<string[]> => {
      const lines: string[] = [];
      for (const seed of ["2", "5", "6"]) {
        const { stdout } = await run(binary, [file, "run", "--seed", seed], { env: userEnvironment });
        lines.push(stdout.trim().split("\n").at(-1)!);
      }
      return lines;
    };
    const here = await hashes(process.execPath);
    expect(here.join()).toMatch(/^(hash [0-9a-f]{16},?){3}$/);
    for (const runtime of ["Node 22", "Node 24"]) {
      const [other] = await runtimes[runtime]!(folder);
      expect(await hashes(other), runtime).toEqual(here);
    }
    // (Two versions of Node are fetched and unpacked.)
  }, 400_000);

  test("runs many in threads", async () => {
    const { stdout } = await program("explore", "--seeds", "4");
    expect(stdout).toContain("4 runs");
  });

  test("says its version, and has examples to type", async () => {
    const file = join(user, "node_modules/@quorlock/simulation/package.json");
    const { version } = JSON.parse(await readFile(file, "utf8")) as { version: string };
    expect((await program("--version")).stdout).toBe(`${version}\n`);
    expect((await program("--help")).stdout).toMatch(/Examples:\n {2}npx quorlock-sim /);
  });

  test("says what it cannot do", async () => {
    const failure = await program("run", "--seed", "1", "--mutant", "no drift is taken off").catch(
      (error: { code: number; stderr: string }) => error,
    );
    expect(failure).toMatchObject({ code: 64 });
    expect(failure.stderr).toContain("mutants and other libraries are in Quorlock's repository alone");
    const unknown = await program("scenarios").catch((error: { stderr: string }) => error);
    expect(unknown.stderr).toContain('unknown command "scenarios"');
  });
});
