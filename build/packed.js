// `prepack` and `postpack`: package.json as it is published, put back afterwards. It leaves out what only this
// repository can use: conditions that lead to sources, exports that are not built for others, and how it is built.
import { readFileSync, renameSync, writeFileSync } from "node:fs";

const kept = "dist/package.json";

function pack() {
  const text = readFileSync("package.json", "utf8");
  writeFileSync(kept, text);
  const manifest = JSON.parse(text);
  for (const field of ["devDependencies", "quorlockPrograms", "scripts"]) delete manifest[field];
  for (const [subpath, entry] of Object.entries(manifest.exports)) {
    if (typeof entry === "string") continue;
    delete entry["quorlock-source"];
    if (!entry.import) delete manifest.exports[subpath];
  }
  // Packages of one version belong together. A peer of one exact version would make each release a major one, to changesets.
  for (const name of Object.keys(manifest.peerDependencies ?? {})) {
    if (name.startsWith("@quorlock/")) manifest.peerDependencies[name] = manifest.version;
  }
  writeFileSync("package.json", `${JSON.stringify(manifest, null, 2)}\n`);
}

if (process.argv[2] === "--undo") renameSync(kept, "package.json");
else pack();
