import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Checks that a seed produces the same hash on every supported version of Node: this one against those from the
// registry, whose packages contain the binary and need no install script. Needs the build (`pnpm build`).

const versions = ["22", "24"];
const seeds = ["1", "2", "3", "4", "5", "6"];
const sim = join("packages", "simulation", "dist", "cli", "main.js");

function output(command: string, args: readonly string[], cwd?: string): string | undefined {
  const { status, stdout } = spawnSync(command, args, { encoding: "utf8", ...(cwd ? { cwd } : {}) });
  return status === 0 ? stdout : undefined;
}

/** The binary of that version, where the registry has one for this machine. */
function nodeOf(version: string, folder: string): string | undefined {
  const name = `node-${process.platform}-${process.arch}@${version}`;
  if (output("npm", ["pack", "--silent", name], folder) === undefined) return undefined;
  const tarball = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (tarball === undefined || output("tar", ["-xzf", tarball], folder) === undefined) return undefined;
  return join(folder, "package", "bin", "node");
}

/** The hash of each seed, in one line. */
function hashesOn(node: string): string {
  return seeds
    .map((seed) => output(node, [sim, "run", "--seed", seed])?.trim().split("\n").at(-1) ?? "no run")
    .join(", ");
}

const here = hashesOn(process.execPath);
console.log(`node ${process.version}: ${here}`);
let differing = here.includes("no run") ? 1 : 0;
for (const version of versions) {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-node-"));
  try {
    const node = nodeOf(version, folder);
    if (node === undefined) {
      console.log(`not tried: node ${version} is not to be had for ${process.platform}-${process.arch}`);
      continue;
    }
    const there = hashesOn(node);
    console.log(`node ${output(node, ["--version"])?.trim()}: ${there === here ? "the same" : there}`);
    if (there !== here) differing += 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exitCode = differing === 0 ? 0 : 1;
