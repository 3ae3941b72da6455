import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { argumentsOf, flag, text } from "../packages/simulation/src/command-line/index.ts";
import { packAll } from "../test/tarball/packed.ts";
import { deadLinksOf, unpacked } from "./packed.ts";
import { ownTemporaryFolder } from "./programs.ts";

const { "dry-run": isDry, tarballs } = argumentsOf({
  usage: ["release", "release --dry-run [--tarballs FOLDER]"],
  about:
    "gives the packages their next version and moves the changesets into CHANGELOG.md, which is one for all",
  options: {
    "dry-run": flag(
      "changes nothing: packs what would be published, prints its sizes, and follows the links of its pages",
    ),
    tarballs: text("FOLDER", "the packages there, in place of those that are packed"),
  },
  exit: "1 no changeset is new; a link is dead",
  examples: ["run release --dry-run", "run release"],
}).values;

const kilobytes = (size: number): string => `${(size / 1000).toFixed(1)} kB`.padStart(10);

/** Exits with 1 if a page leads nowhere. */
async function rehearse(): Promise<void> {
  ownTemporaryFolder();
  const folder = tarballs ?? mkdtempSync(join(tmpdir(), "packed-"));
  if (tarballs === undefined) await packAll(folder);
  const into = join(tmpdir(), "unpacked");
  mkdirSync(into);
  const files = readdirSync(folder).filter((file) => file.endsWith(".tgz"));
  const packages = files.map((file) => unpacked(join(folder, file), into));
  for (const { name, version, size, unpackedSize, files: all } of packages)
    console.log(
      `${`${name}@${version}`.padEnd(32)}${kilobytes(size)} packed${kilobytes(unpackedSize)} unpacked${String(all.length).padStart(5)} files`,
    );
  const addresses = JSON.parse(readFileSync("build/addresses.json", "utf8")) as Record<string, string>;
  const unknown = Object.entries(addresses).flatMap(([name, address]) => (address === "" ? [name] : []));
  if (unknown.length > 0) console.log(`not known yet, in build/addresses.json: ${unknown.join(", ")}`);
  const dead = deadLinksOf(packages);
  for (const line of dead) console.error(line);
  console.log(`${packages.length} packages would be published, ${dead.length} dead links`);
  process.exit(dead.length === 0 ? 0 : 1);
}

if (isDry) await rehearse();
const folder = ".changeset";
const summaries = readdirSync(folder)
  .filter((file) => file.endsWith(".md"))
  .sort()
  .map((file) =>
    readFileSync(join(folder, file), "utf8")
      .replace(/^---\n.*?\n---\n/s, "")
      .trim(),
  );

execFileSync(process.execPath, [join("node_modules", "@changesets", "cli", "bin.js"), "version"], {
  stdio: "inherit",
});

const { version } = JSON.parse(readFileSync("packages/redlock/package.json", "utf8")) as { version: string };
const changelog = readFileSync("CHANGELOG.md", "utf8");
const [title = "", rest = ""] = changelog.split(/^## Unreleased\n+/m);
if (rest === "") throw new Error('CHANGELOG.md has no section "Unreleased"');
if (rest.includes(`## ${version}\n`)) throw new Error(`${version} is released already: no changeset is new`);
const lines = summaries.map((summary) => `- ${summary.replaceAll("\n", "\n  ")}\n`);
writeFileSync("CHANGELOG.md", `${title}## Unreleased\n\n## ${version}\n\n${lines.join("")}${rest}`);
console.log(`CHANGELOG.md: ${version}`);
