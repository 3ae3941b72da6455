import { access } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import process, { arch, platform } from "node:process";

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

/** The command that runs a program under each runtime. The packages `bun` and `deno` bring it along. */
export const runtimes: Readonly<Record<string, () => Promise<readonly [file: string, ...args: string[]]>>> = {
  Node: () => Promise.resolve([process.execPath]),
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
