import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";

const run = promisify(execFile);
const repository = resolve(import.meta.dirname, "../..");

/** A copy is packed, so that no other test reads a package that is half written. */
async function copyOf(name: string, folder: string): Promise<string> {
  const source = join(repository, "packages", name);
  const copy = join(folder, "copy/packages", name);
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
  const packing = ["-y", "pnpm@12", "pack", "--json", "--pack-destination", folder];
  const { stdout } = await run("npx", packing, { cwd: copy });
  const { filename } = JSON.parse(stdout.slice(stdout.lastIndexOf("\n{"))) as { filename: string };
  // The manifest is as it was.
  const manifest = await readFile(join(copy, "package.json"), "utf8");
  expect(manifest).toBe(await readFile(join(repository, "packages", name, "package.json"), "utf8"));
  return resolve(folder, filename);
}

/** Packs these packages into `folder`, and returns their tarballs. */
export async function packed<Name extends string>(
  names: readonly Name[],
  folder: string,
): Promise<Record<Name, string>> {
  const copy = join(folder, "copy");
  await mkdir(copy);
  await symlink(join(repository, "node_modules"), join(copy, "node_modules"));
  for (const file of ["package.json", "pnpm-workspace.yaml", "tsconfig.base.json", "CHANGELOG.md", "build"]) {
    await cp(join(repository, file), join(copy, file), { recursive: true });
  }
  const tarballs: Partial<Record<Name, string>> = {};
  for (const name of names) tarballs[name] = await pack(name, folder);
  return tarballs as Record<Name, string>;
}
