import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Child } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { userEnvironment } from "./environment.ts";
import { repository } from "./published.ts";

// The program as users get it: packed, and run with its dependencies alone beside it.

const run = promisify(execFile);

let folder: string;
let tarball: string;
let installed: string;

interface Manifest {
  readonly version: string;
  readonly bin: { readonly quorlock: string };
  readonly dependencies: Readonly<Record<string, string>>;
}

async function manifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
}

/** Its output, and its exit code. */
async function quorlock(
  ...args: readonly string[]
): Promise<{ code: number; stdout: string; stderr: string }> {
  const program = join(installed, (await manifest()).bin.quorlock);
  const env = { ...userEnvironment, REDLOCK_NODES: undefined };
  return await run(process.execPath, [program, ...args], { env }).then(
    (ended) => ({ code: 0, ...ended }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

/** Unpacks a package where its user has it. */
async function install(directory: string, name: string): Promise<string> {
  const tarball = inject("tarballs")[directory]!;
  const target = join(folder, "user/node_modules", name);
  await mkdir(target, { recursive: true });
  await run("tar", ["-xzf", tarball, "--strip-components=1", "-C", target]);
  return tarball;
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-program-")));
  tarball = await install("cli", "quorlock");
  installed = join(folder, "user/node_modules/quorlock");
  await install("redlock", "@quorlock/redlock");
  for (const name of ["commander", "ioredis"]) {
    const dependency = join(repository, "packages/cli/node_modules", name);
    await symlink(await realpath(dependency), join(installed, "..", name));
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the package holds its program, its page and its licence, no more", async () => {
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  const page = ["login.html", "page.css", "page.html", "page.js"].map((name) => `dist/esm/page/${name}`);
  const documents = ["CHANGELOG.md", "LICENSE", "README.md"];
  expect(files.sort()).toEqual([...documents, ...page, "dist/esm/quorlock.js", "package.json"]);
  const text = await readFile(join(installed, "package.json"), "utf8");
  expect(text).not.toMatch(
    /workspace:|catalog:|quorlock-source|devDependencies|quorlockPrograms|scripts|\.\/src/,
  );
  expect(Object.keys((await manifest()).dependencies)).toEqual(["@quorlock/redlock", "commander", "ioredis"]);
  const { size } = await stat(tarball);
  expect(size, `bytes packed, of ${files.length} files`).toBeLessThan(50_000);
});

test("the program says its version, and what is wrong with a command line", async () => {
  const { version } = await manifest();
  expect(await quorlock("--version")).toMatchObject({ code: 0, stdout: `${version}\n` });
  const typo = await quorlock("doctro");
  expect(typo).toMatchObject({
    code: 64,
    stderr: "quorlock: unknown command 'doctro': did you mean doctor?\n",
  });
});

test("the program examines masters", async () => {
  const masters = await startMasters(3, { say: () => {} });
  const { code, stdout } = await quorlock("doctor", "--guard", ...masters.urls);
  await masters.stop();
  // All of them are on this machine.
  expect(code).toBe(1);
  expect(stdout).toContain("! same-host: ");
  expect(stdout).toMatch(/\n64 pass, 2 warn, 0 fail, 0 unknown\n$/);
});

test("the program serves its page", async () => {
  const program = join(installed, (await manifest()).bin.quorlock);
  const args = ["serve", "--port", "0", "--master", "127.0.0.1:1"];
  await using child = Child.node(program, args, { env: { ...userEnvironment, QUORLOCK_TOKEN: undefined } });
  const page = await (await fetch(await child.line(0))).text();
  expect(page).toContain("<title>Quorlock</title>");
  expect(page).toContain("new EventSource");
  expect(page).toContain("prefers-color-scheme: dark");
});
