import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { publishedPackages, repository } from "./published.ts";

// `pnpm release --dry-run`, and the pages of a package as they are published.

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "release-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function rehearse(tarballs: string) {
  const release = join(repository, ".ci/release.ts");
  const args = ["--import", import.meta.resolve("tsx"), release, "--dry-run", "--tarballs", tarballs];
  return spawnSync(process.execPath, args, { cwd: repository, encoding: "utf8" });
}

test("a dry run lists what would be published, with sizes, and no link is dead", () => {
  const { status, stdout, stderr } = rehearse(dirname(inject("tarballs")["redlock"]!));
  expect(stderr).toBe("");
  const lines = [...stdout.matchAll(/^(\S+)@\d\S+ +[\d.]+ kB packed +[\d.]+ kB unpacked +\d+ files$/gm)];
  expect(lines).toHaveLength(publishedPackages.length);
  expect(stdout).toContain(`${publishedPackages.length} packages would be published, 0 dead links`);
  expect(status).toBe(0);
});

test("a dry run fails on a dead link", () => {
  const tarball = inject("tarballs")["testing"]!;
  execFileSync("tar", ["-xzf", tarball, "-C", folder]);
  const links = [
    "docs/none.md",
    "#none",
    "../redlock/README.md",
    "https://unpkg.com/@quorlock/testing@0.1.0/a.md",
  ];
  const page = join(folder, "package/README.md");
  writeFileSync(page, readFileSync(page, "utf8") + links.map((link) => `\n[a](${link})`).join(""));
  mkdirSync(join(folder, "broken"));
  execFileSync("tar", ["-czf", join(folder, "broken", basename(tarball)), "-C", folder, "package"]);
  const { status, stdout, stderr } = rehearse(join(folder, "broken"));
  for (const link of links)
    expect(stderr).toContain(`@quorlock/testing: README.md leads to ${link}, which is not there`);
  expect(stdout).toContain("1 packages would be published, 4 dead links");
  expect(status).toBe(1);
});

describe.each([
  ["without an address of the repository, is named", "", "the protocol (docs/protocol.md in the repository)"],
  [
    "with one, is linked",
    "https://h.example/q",
    "[the protocol](https://h.example/q/blob/quorlock@0.1.0/docs/protocol.md)",
  ],
])("what is in no package", (title, address, words) => {
  test(`${title}; afterwards the files are put back`, () => {
    for (const path of [
      "build",
      ".changeset",
      "CHANGELOG.md",
      "packages/redlock/README.md",
      "packages/redlock/docs",
      "packages/redlock/skills",
    ])
      cpSync(join(repository, path), join(folder, path), { recursive: true });
    const manifest = readFileSync(join(repository, "packages/redlock/package.json"), "utf8");
    writeFileSync(
      join(folder, "packages/redlock/package.json"),
      manifest.replace(/"version": ".+"/, '"version": "0.1.0"'),
    );
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    const known = JSON.stringify({ repository: address, homepage: address, bugs: "" });
    writeFileSync(join(folder, "build/addresses.json"), known);
    const read = (file: string): string => readFileSync(join(folder, "packages/redlock", file), "utf8");
    const files = ["package.json", "README.md", "docs/promises.md"];
    const before = files.map(read);
    const pack = (...args: string[]): Buffer =>
      execFileSync(process.execPath, ["../../build/packed.js", ...args], {
        cwd: join(folder, "packages/redlock"),
      });
    pack();
    expect(read("docs/promises.md")).toContain(words);
    expect(read("docs/promises.md")).toContain("](fencing.md)");
    expect(read("README.md")).toContain("](https://unpkg.com/@quorlock/redlock@0.1.0/docs/waiting.md)");
    expect(JSON.parse(read("package.json")).homepage).toBe(address || undefined);
    expect(JSON.parse(read("package.json")).repository?.directory).toBe(
      address ? "packages/redlock" : undefined,
    );
    pack("--undo");
    expect(files.map(read)).toEqual(before);
  });
});
