// `prepack` and `postpack`: the files of a package as they are published, put back afterwards.
//
// package.json leaves out what only this repository can use: conditions that lead to sources, exports that are not built for
// others, and how it is built. No link of a page leads to a file that is not published: see `published`.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";

/** The public addresses, in one place, and empty until they are known. */
const addresses = JSON.parse(readFileSync(new URL("addresses.json", import.meta.url), "utf8"));
const kept = "dist/unpacked";
const changelog = "CHANGELOG.md";
const folder = basename(process.cwd());
const pages = ["README.md", ...pagesIn("docs"), ...pagesIn("skills")];

function pagesIn(name) {
  if (!existsSync(name)) return [];
  return readdirSync(name, { recursive: true })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `${name}/${file.replaceAll("\\", "/")}`);
}

/** The published packages, by their folders in `packages`. */
function packagesByFolder() {
  const [names] = JSON.parse(readFileSync("../../.changeset/config.json", "utf8")).fixed;
  return new Map(names.map((name) => [name === "quorlock" ? "cli" : name.replace(/^@quorlock\//, ""), name]));
}

/**
 * A page as it is published. A registry shows README.md alone: its links to other pages of the package lead to the file of this version
 * on unpkg.com, which serves what the registry has. So do links to pages of other packages. A file in no package is a link once the repository has an address;
 * until then, its path stands behind the words.
 */
function published(page, text, { name, version }) {
  const packages = packagesByFolder();
  const lead = (words, target, image) => {
    const [file, anchor = ""] = target.split(/(?=#)/);
    const path = posix.join(posix.dirname(page), file);
    if (!path.startsWith("../"))
      return page === "README.md"
        ? `${image}[${words}](https://unpkg.com/${name}@${version}/${path}${anchor})`
        : undefined;
    const [, other, rest] =
      /^packages\/([^/]+)\/(README\.md|docs\/.+)$/.exec(posix.join("packages", folder, path)) ?? [];
    if (packages.has(other))
      return `${image}[${words}](https://unpkg.com/${packages.get(other)}@${version}/${rest}${anchor})`;
    const inRepository = posix.join("packages", folder, path);
    if (addresses.repository)
      return `${image}[${words}](${addresses.repository}/${image ? "raw" : "blob"}/quorlock@${version}/${inRepository}${anchor})`;
    return `${words} (${inRepository} in the repository)`;
  };
  const parts = text.split(/(^```[\s\S]*?^```$)/m);
  const prose = (part) =>
    part.replaceAll(/(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (whole, image, words, target) =>
      /^(?:[a-z]+:|#)/.test(target) ? whole : (lead(words, target, image) ?? whole),
    );
  return parts.map((part) => (part.startsWith("```") ? part : prose(part))).join("");
}

function manifestOf(text) {
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
  const { repository, homepage, bugs } = addresses;
  if (repository)
    manifest.repository = { type: "git", url: `git+${repository}.git`, directory: `packages/${folder}` };
  if (homepage) manifest.homepage = homepage;
  if (bugs) manifest.bugs = { url: bugs };
  return manifest;
}

function pack() {
  const manifest = manifestOf(readFileSync("package.json", "utf8"));
  for (const file of ["package.json", ...pages]) {
    mkdirSync(join(kept, dirname(file)), { recursive: true });
    cpSync(file, join(kept, file));
  }
  writeFileSync("package.json", `${JSON.stringify(manifest, null, 2)}\n`);
  cpSync(join("../..", changelog), changelog);
  for (const page of pages) writeFileSync(page, published(page, readFileSync(page, "utf8"), manifest));
}

function unpack() {
  cpSync(kept, ".", { recursive: true });
  rmSync(kept, { recursive: true });
  rmSync(changelog);
}

if (process.argv[2] === "--undo") unpack();
else pack();
