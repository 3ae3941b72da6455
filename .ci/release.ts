import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argumentsOf } from "../packages/simulation/src/command-line/index.ts";

argumentsOf({
  usage: "release",
  about:
    "gives the packages their next version and moves the changesets into CHANGELOG.md, which is one for all",
  exit: "1 no changeset is new",
  examples: ["release"],
});

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
