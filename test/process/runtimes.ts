import { execFile } from "node:child_process";
import { access, mkdtemp, readdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import process, { arch, platform } from "node:process";
import { promisify } from "node:util";

const run = promisify(execFile);

const packages = createRequire(import.meta.url);

/** The program of a package that only finds the one for this machine when it is installed. */
async function binaryIn(wrapper: string, names: readonly string[], file: string): Promise<string> {
  const inWrapper = createRequire(packages.resolve(`${wrapper}/package.json`));
  for (const name of names) {
    try {
      const binary = join(inWrapper.resolve(`${name}/package.json`), "..", file);
      await access(binary);
      return binary;
    } catch {
      // Not for this machine.
    }
  }
  throw new Error(`no ${wrapper} for ${platform} on ${arch}`);
}

/** The binary of that version: its package at the registry holds it and needs no install script. */
async function nodeOf(version: string, folder: string): Promise<string> {
  const cwd = await mkdtemp(join(folder, "node-"));
  await run("npm", ["pack", "--silent", `node-${platform}-${arch}@${version}`], { cwd });
  const [tarball] = await readdir(cwd);
  await run("tar", ["-xzf", tarball!], { cwd });
  return join(cwd, "package/bin/node");
}

/**
 * The command that runs a program under each runtime. The packages `bun` and `deno` bring it along; what is fetched goes into the
 * folder.
 */
export const runtimes: Readonly<
  Record<string, (folder: string) => Promise<readonly [file: string, ...args: string[]]>>
> = {
  Node: () => Promise.resolve([process.execPath]),
  "Node 22": async (folder) => [await nodeOf("22", folder)],
  "Node 24": async (folder) => [await nodeOf("24", folder)],
  Bun: async () => [
    await binaryIn(
      "bun",
      [`@oven/bun-${platform}-${arch}`, `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}`],
      "bin/bun",
    ),
    "run",
  ],
  Deno: async () => [
    await binaryIn("deno", [`@deno/${platform}-${arch}-glibc`, `@deno/${platform}-${arch}`], "deno"),
    "run",
    "--allow-all",
    "--node-modules-dir=manual",
    "--no-lock",
  ],
};
