import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, posix } from "node:path";

// The contents of the tarballs of a release, and the links of their pages.

/** A package as a registry has it. */
export interface Packed {
  readonly name: string;
  readonly version: string;
  /** Of the tarball, and of its files, bytes. */
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly string[];
  /** Where it is unpacked. */
  readonly folder: string;
}

export function unpacked(tarball: string, into: string): Packed {
  const folder = join(into, basename(tarball, ".tgz"));
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components=1"]);
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const files = all.filter((file) => statSync(join(folder, file)).isFile());
  const sizes = files.map((file) => statSync(join(folder, file)).size);
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Packed;
  return {
    name: manifest.name,
    version: manifest.version,
    size: statSync(tarball).size,
    unpackedSize: sizes.reduce((sum, size) => sum + size, 0),
    files,
    folder,
  };
}

const prose = (page: string): string => readFileSync(page, "utf8").replaceAll(/^```.*?^```$/gms, "");

/** As the repository's host and the site make it. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");
}

function isThere(file: string, anchor: string | undefined): boolean {
  if (!existsSync(file)) return false;
  if (anchor === undefined) return true;
  return [...prose(file).matchAll(/^#+ (.+)$/gm)].some(([, heading]) => anchorOf(heading!) === anchor);
}

/** The links that lead to no file of these packages, one sentence each. Others' addresses are not looked at. */
export function deadLinksOf(packages: readonly Packed[]): readonly string[] {
  const dead = (page: string, { name, folder }: Packed, link: string): boolean => {
    const [, owner, path] = /^https:\/\/unpkg\.com\/((?:@[^/]+\/)?[^/@]+@[^/]+)\/(.+)$/.exec(link) ?? [];
    const [file = "", anchor] = (path ?? link).split("#");
    if (owner !== undefined) {
      const other = packages.find((one) => `${one.name}@${one.version}` === owner);
      return other === undefined ? owner.startsWith(`${name}@`) : !isThere(join(other.folder, file), anchor);
    }
    if (/^[a-z]+:/.test(link)) return false;
    const target = posix.join(posix.dirname(page), file || basename(page));
    return target.startsWith("../") || !isThere(join(folder, target), anchor);
  };
  return packages.flatMap((one) =>
    one.files
      .filter((file) => file.endsWith(".md"))
      .flatMap((page) => {
        const links = [...prose(join(one.folder, page)).matchAll(/\]\(([^)\s]+)\)/g)].map(
          ([, link]) => link!,
        );
        return links
          .filter((link) => dead(page, one, link))
          .map((link) => `${one.name}: ${page} leads to ${link}, which is not there`);
      }),
  );
}
