import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

// CONTRIBUTING.md has the reason for each dependency.

const repository = resolve(import.meta.dirname, "..");
const packages = readdirSync(join(repository, "packages")).map((name) => `packages/${name}`);
const users = readdirSync(join(repository, "test/tarball/users")).map((name) => `test/tarball/users/${name}`);

type Dependencies = Readonly<Record<string, string>>;
interface Manifest {
  readonly dependencies?: Dependencies;
  readonly devDependencies?: Dependencies;
  readonly peerDependencies?: Dependencies;
}

function dependenciesOf(folder: string): string[] {
  const names = readdirSync(join(repository, folder));
  if (!names.includes("package.json")) return [];
  const manifest = JSON.parse(readFileSync(join(repository, folder, "package.json"), "utf8")) as Manifest;
  const all = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies };
  return Object.keys(all).filter((name) => !name.startsWith("@quorlock/"));
}

function isOf(name: string, pattern: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

test("each dependency has a reason, and each reason a dependency", () => {
  const used = new Set([".", "examples", "test", ...packages, ...users].flatMap(dependenciesOf));
  const [, text = ""] = readFileSync(join(repository, "CONTRIBUTING.md"), "utf8").split("## Dependencies");
  const rows = text.split("\n").filter((line) => line.startsWith("| `"));
  const named = rows.flatMap((row) =>
    [...row.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
  );
  expect([...used].filter((name) => !named.some((pattern) => isOf(name, pattern))).sort()).toEqual([]);
  expect(named.filter((pattern) => ![...used].some((name) => isOf(name, pattern)))).toEqual([]);
  expect(rows.filter((row) => row.split("|")[2]!.trim().length < 10)).toEqual([]);
});
