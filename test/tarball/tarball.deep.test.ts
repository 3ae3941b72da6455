import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, normalize, resolve } from "node:path";
import { promisify } from "node:util";
import { type Masters, startMasters } from "@quorlock/testbed";
import { afterAll, beforeAll, expect, test } from "vitest";

// The package as users get it: built, packed, installed into an empty folder, and loaded by a plain node.

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, "../..");
const client = "packages/redlock";
const ioredis = import.meta.resolve("ioredis");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

let folder: string;
let installed: string;
let manifest: Manifest;
let files: readonly string[];
/** Whatever a user imports. */
let subpaths: readonly string[];

/** A copy is built, so that nobody who reads the package's own build finds it half written. */
async function copyOfSources(): Promise<string> {
  const copy = join(folder, "copy");
  await mkdir(join(copy, client), { recursive: true });
  await symlink(join(repository, "node_modules"), join(copy, "node_modules"));
  for (const file of ["tsconfig.base.json", ...(await sourcesOfClient())]) {
    await cp(join(repository, file), join(copy, file), { recursive: true });
  }
  await symlink(join(repository, client, "node_modules"), join(copy, client, "node_modules"));
  return join(copy, client);
}

async function sourcesOfClient(): Promise<string[]> {
  const names = await readdir(join(repository, client));
  return names.filter((name) => name !== "node_modules" && name !== "dist").map((name) => join(client, name));
}

async function node(program: string, ...flags: string[]): Promise<string> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const args = [...flags, "--input-type=module", "--eval", program];
  const { stdout } = await run(process.execPath, args, { cwd: join(folder, "user"), env });
  return stdout.trim();
}

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-tarball-")));
  const copy = await copyOfSources();
  await run("npm", ["pack", "--pack-destination", folder], { cwd: copy });
  const tarball = (await readdir(folder)).find((file) => file.endsWith(".tgz"))!;
  const user = join(folder, "user");
  await mkdir(user);
  await writeFile(join(user, "package.json"), '{ "private": true }');
  // Offline: nothing else is needed to install it.
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, tarball)], { cwd: user });
  installed = join(user, "node_modules/@quorlock/redlock");
  manifest = JSON.parse(await readFile(join(installed, "package.json"), "utf8")) as Manifest;
  const entries = await readdir(installed, { recursive: true, withFileTypes: true });
  files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(installed.length + 1));
  subpaths = Object.keys(manifest.exports)
    .filter((path) => path !== "./package.json")
    .map((path) => join("@quorlock/redlock", path));
}, 180_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test("it brings nothing with it, and each of its files is a module, a map, a declaration or a source", async () => {
  expect(manifest.dependencies).toBeUndefined();
  const modules = await readdir(join(folder, "user/node_modules"));
  expect(modules.filter((name) => !name.startsWith("."))).toEqual(["@quorlock"]);
  const expected =
    /^(package\.json|README\.md|LICENSE|docs\/[\w-]+\.md|dist\/esm\/([\w-]+\.js(\.map)?|tinyqueue\.LICENSE)|dist\/types\/.+\.d\.ts(\.map)?|src\/.+\.ts)$/;
  expect(files.filter((file) => !expected.test(file) || file.includes(".test."))).toEqual([]);
  expect(files).toContain("dist/esm/tinyqueue.LICENSE");
});

test("each link of its README is one that a registry's page can follow, to a file of this version", async () => {
  const { name, version } = manifest;
  const address = `https://unpkg.com/${name}@${version}/`;
  const readme = await readFile(join(installed, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);
  expect(links.length).toBeGreaterThan(10);
  const wrong = links.filter(
    (link) => !link.startsWith(address) || !files.includes(link.slice(address.length).split("#")[0]!),
  );
  expect(wrong).toEqual([]);
  // And each page is linked.
  const pages = files.filter((file) => file.startsWith("docs/"));
  expect(pages.filter((page) => !links.includes(address + page))).toEqual([]);
  // The sources keep their own links.
  expect(await readFile(join(folder, "copy", client, "README.md"), "utf8")).toContain("](docs/waiting.md)");
});

test("maps lead to sources that are there", async () => {
  const maps = files.filter((file) => file.endsWith(".map"));
  const missing: string[] = [];
  for (const map of maps) {
    const { sources } = JSON.parse(await readFile(join(installed, map), "utf8")) as { sources: string[] };
    const paths = sources.map((source) => normalize(join(dirname(map), source)));
    missing.push(...paths.filter((path) => !files.includes(path)));
  }
  expect(maps.length).toBeGreaterThan(subpaths.length);
  // It is bundled, and not shipped as a source.
  expect(missing.filter((path) => !path.endsWith("node_modules/tinyqueue/index.js"))).toEqual([]);
});

test("each subpath is imported, all together from few files", async () => {
  expect(subpaths).toHaveLength(6);
  for (const subpath of subpaths) {
    const names = await node(`console.log(Object.keys(await import(${JSON.stringify(subpath)})).length)`);
    expect(Number(names), subpath).toBeGreaterThan(0);
  }
  const modules = files.filter((file) => file.endsWith(".js"));
  expect(modules.length).toBeLessThanOrEqual(subpaths.length + 1);
});

test("each subpath has types that a strict compiler accepts", async () => {
  const imports = subpaths.map((subpath, at) => `export * as part${at} from ${JSON.stringify(subpath)};`);
  const program = [
    ...imports,
    'import { Lock, Redlock } from "@quorlock/redlock";',
    'import { Semaphore } from "@quorlock/redlock/semaphore";',
    // The class of one subpath is that of another one, to the compiler too.
    'export const permit = (redlock: Redlock): Promise<Lock> => new Semaphore(redlock, "s", 2).acquire(1000);',
    "export const right: Lock = 1;",
  ];
  await writeFile(join(folder, "user/consumer.mts"), program.join("\n"));
  const types = ["--types", "node", "--typeRoots", join(repository, "node_modules/@types")];
  const flags = ["--ignoreConfig", "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"];
  const compiler = join(repository, "node_modules/typescript/bin/tsc");
  const told = await run(process.execPath, [compiler, ...flags, ...types, "consumer.mts"], {
    cwd: join(folder, "user"),
  }).catch((error: { stdout: string }) => error);
  const errors = told.stdout.split("\n").filter((line) => line.includes("error TS"));
  // A lock is not a number: types that are missing would let it pass.
  expect(errors).toEqual([expect.stringContaining("Type 'number' is not assignable to type 'Lock'")]);
});

test("declarations are bundled, with their comments, and without what is internal", async () => {
  const declarations = files.filter((file) => file.endsWith(".d.ts"));
  const texts = await Promise.all(declarations.map((file) => readFile(join(installed, file), "utf8")));
  const text = texts.join("\n");
  expect(declarations.length).toBeLessThanOrEqual(2 * subpaths.length);
  expect(text).toContain("* Locks all of `resources`, or none, for `ttl` ms.");
  expect(text).toContain("tryAcquire(");
  expect(text).not.toMatch(/@internal|leaseOf|internalsOf|limitTo|whyEnded/);
});

test("a stack trace leads to the line of the source", async () => {
  const program = `
    import { Redlock } from "@quorlock/redlock";
    try { new Redlock([]); } catch (error) { console.log(error.stack); }
  `;
  const [, first] = (await node(program, "--enable-source-maps")).split("\n");
  const { file, line } = /\((?<file>.+\/src\/.+\.ts):(?<line>\d+):\d+\)$/.exec(first!)!.groups!;
  expect(file!.startsWith(join(installed, "src"))).toBe(true);
  const source = (await readFile(file!, "utf8")).split("\n");
  expect(source[Number(line) - 1]).toContain("throw new InvalidArgumentError(");
});

test("all subpaths have the same classes", async () => {
  const masters: Masters = await startMasters(3, { say: () => {} });
  try {
    const urls = JSON.stringify(masters.urls);
    const told = await node(`
      import { InvalidArgumentError, Lock, Redlock, RedlockError } from "@quorlock/redlock";
      import { lead } from "@quorlock/redlock/lead";
      import { ReadWriteLock } from "@quorlock/redlock/read-write-lock";
      import { Semaphore } from "@quorlock/redlock/semaphore";
      import { withoutScripts } from "@quorlock/redlock/without-scripts";
      const { Redis } = await import(${JSON.stringify(ioredis)});
      const clients = ${urls}.map((url) => new Redis(url));
      const redlock = new Redlock(clients);
      const is = {};
      const ended = new AbortController();
      await lead(redlock, "leader", 2000, () => ended.abort(), {
        signal: ended.signal,
        onStart(lock) { is.lead = lock instanceof Lock; },
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
        refused(() => withoutScripts([{ isCluster: true }])),
        await lead(redlock, "leader", -1, () => {}).catch((error) => error instanceof InvalidArgumentError),
      ];
      console.log(JSON.stringify(is));
      for (const client of clients) client.disconnect();
    `);
    expect(JSON.parse(told)).toEqual({
      lead: true,
      semaphore: true,
      readWriteLock: true,
      withoutScripts: true,
      errors: [true, true, true, true],
    });
  } finally {
    await masters.stop();
  }
});
