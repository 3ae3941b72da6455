import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { publishedPackages } from "./tarball/published.ts";

// A release, in a copy of the manifests: one version, one changelog, and private packages left alone.

const repository = resolve(import.meta.dirname, "..");
let copy: string;

const read = (file: string): Promise<string> => readFile(join(copy, file), "utf8");
const versionOf = async (name: string): Promise<string> =>
  (JSON.parse(await read(`packages/${name}/package.json`)) as { version: string }).version;

function release(): void {
  const script = join(repository, ".ci/release.ts");
  execFileSync(process.execPath, ["--import", import.meta.resolve("tsx"), script], {
    cwd: copy,
    stdio: "pipe",
  });
}

beforeEach(async () => {
  copy = await mkdtemp(join(tmpdir(), "quorlock-release-"));
  const names = await readdir(join(repository, "packages"));
  const manifests = names.map((name) => `packages/${name}/package.json`);
  for (const file of ["package.json", "pnpm-workspace.yaml", ".changeset", ...manifests]) {
    await cp(join(repository, file), join(copy, file), { recursive: true });
  }
  // All releases so far.
  for (const name of publishedPackages) {
    const file = join(copy, `packages/${name}/package.json`);
    const manifest = await readFile(file, "utf8");
    await writeFile(file, manifest.replace(/"version": ".+"/, '"version": "0.1.0"'));
  }
  await symlink(join(repository, "node_modules"), join(copy, "node_modules"));
  await writeFile(join(copy, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n\n- A line.\n");
  execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: copy });
});
afterEach(() => rm(copy, { recursive: true, force: true }));

test("changesets become the lines of one version of all packages that are published", async () => {
  const before = await read("packages/spec/package.json");
  await writeFile(
    join(copy, ".changeset/a.md"),
    '---\n"@quorlock/redlock": minor\n---\n\nNew: `a`.\nIt locks.\n',
  );
  await writeFile(join(copy, ".changeset/b.md"), '---\n"@quorlock/testing": patch\n---\n\nMended: b.\n');
  release();
  expect(await Promise.all(publishedPackages.map(versionOf))).toEqual(publishedPackages.map(() => "0.2.0"));
  expect(await read("packages/spec/package.json")).toBe(before);
  expect(await read("CHANGELOG.md")).toBe(
    "# Changelog\n\n## Unreleased\n\n## 0.2.0\n\n- New: `a`.\n  It locks.\n- Mended: b.\n- A line.\n",
  );
  expect(await readdir(join(copy, ".changeset"))).toEqual(["config.json"]);
  expect(await readdir(join(copy, "packages/redlock"))).toEqual(["package.json"]);
});

test("the first release is the version that the packages have", async () => {
  release();
  expect(await Promise.all(publishedPackages.map(versionOf))).toEqual(publishedPackages.map(() => "0.1.0"));
  expect(await read("CHANGELOG.md")).toBe("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- A line.\n");
  expect(release).toThrow("0.1.0 is released already");
});
