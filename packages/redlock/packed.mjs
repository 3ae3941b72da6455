// `prepack` and `postpack`: what is packed differs from what is in the repository, and is put back afterwards.
import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

const here = (file) => new URL(file, import.meta.url);
const read = (file) => readFileSync(here(file), "utf8");
const changed = ["README.md", "package.json"];

function pack() {
  mkdirSync(here("dist/unpacked/"), { recursive: true });
  for (const file of changed) cpSync(here(file), here(`dist/unpacked/${file}`));
  const manifest = JSON.parse(read("package.json"));
  // A registry's page cannot follow a relative link, so they lead to the files of this version on unpkg.com, which
  // serves what the registry has.
  const docs = `](https://unpkg.com/${manifest.name}@${manifest.version}/docs/`;
  writeFileSync(here("README.md"), read("README.md").replaceAll("](docs/", docs));
  // The sources are not published.
  for (const entry of Object.values(manifest.exports)) delete entry["quorlock-source"];
  delete manifest.devDependencies;
  writeFileSync(here("package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(here("../../CHANGELOG.md"), here("CHANGELOG.md"));
}

function unpack() {
  for (const file of changed) renameSync(here(`dist/unpacked/${file}`), here(file));
  rmSync(here("CHANGELOG.md"));
}

if (process.argv[2] === "--undo") unpack();
else pack();
