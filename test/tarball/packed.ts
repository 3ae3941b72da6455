import { execFile, spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { publishedPackages, repository } from "./published.ts";

// Builds and packs each published package once, before the tests of the project `packages` begin, and for `pnpm release`.

declare module "vitest" {
  interface ProvidedContext {
    /** The tarball of each published package, by its folder in `packages`. */
    tarballs: Readonly<Record<string, string>>;
  }
}

const run = promisify(execFile);
/** Under `pnpm test:deep` it is on the path. */
const pnpm: readonly [string, ...string[]] =
  spawnSync("pnpm", ["--version"]).status === 0 ? ["pnpm"] : ["npx", "-y", "pnpm@12"];

/** A copy is packed, so that nobody reads a package that is half written. */
async function copyOf(name: string, folder: string): Promise<string> {
  const source = join(repository, "packages", name);
  const copy = join(folder, "packages", name);
  await mkdir(copy, { recursive: true });
  const skipped = ["node_modules", "dist"];
  for (const file of await readdir(source)) {
    if (!skipped.includes(file)) await cp(join(source, file), join(copy, file), { recursive: true });
  }
  await symlink(join(source, "node_modules"), join(copy, "node_modules"));
  return copy;
}

async function pack(name: string, folder: string): Promise<string> {
  const copy = await copyOf(name, folder);
  const [program, ...args] = pnpm;
  const packing = [...args, "pack", "--json", "--pack-destination", folder];
  const { stdout } = await run(program, packing, { cwd: copy });
  const { filename } = JSON.parse(stdout.slice(stdout.lastIndexOf("\n{"))) as { filename: string };
  for (const changed of ["package.json", "README.md"]) {
    const source = await readFile(join(repository, "packages", name, changed), "utf8");
    const isAsBefore = (await readFile(join(copy, changed), "utf8")) === source;
    if (!isAsBefore) throw new Error(`${name}: ${changed} is not put back after the package is packed`);
  }
  return resolve(folder, filename);
}

/** The tarball of each published package, by its folder in `packages`. */
export async function packAll(folder: string): Promise<Readonly<Record<string, string>>> {
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  for (const file of [
    "package.json",
    "pnpm-workspace.yaml",
    "tsconfig.base.json",
    "CHANGELOG.md",
    "build",
    ".changeset",
  ]) {
    await cp(join(repository, file), join(folder, file), { recursive: true });
  }
  const tarballs: Record<string, string> = {};
  const left = [...publishedPackages];
  const packNext = async (): Promise<void> => {
    for (let name = left.pop(); name !== undefined; name = left.pop())
      tarballs[name] = await pack(name, folder);
  };
  // Two at a time: a build waits for little else than the processor.
  await Promise.all([packNext(), packNext()]);
  return tarballs;
}

/** Called by vitest. */
export default async function provideAll(project: TestProject): Promise<() => Promise<void>> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "quorlock-packed-")));
  project.provide("tarballs", await packAll(folder));
  return () => rm(folder, { recursive: true, force: true });
}
