import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

// CONTRIBUTING and ARCHITECTURE say where things are: every path and every mutant that they name is there.

const root = join(import.meta.dirname, "../..");
const client = join(root, "packages/redlock/src");

function read(file: string): string {
  return readFileSync(join(root, file), "utf8");
}

/** Text between backticks that looks like a file or a folder. */
function pathsIn(text: string): readonly string[] {
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, path = ""]) => path);
  return quoted.filter((path) => /^[\w.-]+\/[\w./-]*$|^[\w-]+\.ts$/.test(path));
}

describe.each(["CONTRIBUTING.md", "ARCHITECTURE.md"])("%s", (file) => {
  it("names files and folders that exist", () => {
    const paths = pathsIn(read(file));
    const folders = [root, client, join(root, "packages"), join(client, "..")];
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter((path) => !folders.some((folder) => existsSync(join(folder, path))))).toEqual([]);
  });
});

describe("the map of CONTRIBUTING.md", () => {
  const map = read("CONTRIBUTING.md").split("## I want to change")[1]!.split("\n## ")[0]!;

  it("names mutants that exist", () => {
    const folder = "packages/simulation/src";
    const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    const lists = files.filter((file) => file.endsWith("mutants.ts"));
    const sources = lists.map((file) => read(join(folder, file))).join("\n");
    const named = [...map.matchAll(/"([^"\n]+)"/g)].map(([, name]) => name);
    expect(named.filter((name) => !sources.includes(`"${name}": {`))).toEqual([]);
    expect(named.length).toBeGreaterThan(15);
  });
});
