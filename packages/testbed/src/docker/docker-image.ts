import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { findExecutable } from "../servers/executables.ts";

export const localImageName = "quorlock/redis:local";

/** Both names under which each program is run, by commands written for Redis's image or for Valkey's. */
const programs = [
  ["redis-server", "valkey-server"],
  ["redis-cli", "valkey-cli"],
] as const;

/**
 * Makes a Docker image of this machine's own redis-server, redis-cli and the libraries they load, for where
 * no image can be pulled. There is no shell in it. Needs the docker and tar commands; returns the image's name.
 */
export function makeLocalImage(name: string = localImageName): string {
  const root = mkdtempSync(join(tmpdir(), "quorlock-image-"));
  try {
    for (const names of programs) {
      const binary = findExecutable(names);
      if (!binary) throw new Error(`an image needs ${names.join(" or ")} on the PATH`);
      for (const file of librariesOf(binary)) copyInto(root, file, file);
      for (const alias of names) copyInto(root, binary, `/usr/local/bin/${alias}`);
    }
    mkdirSync(join(root, "data"));
    // Programs that ask for their user's name or write a temporary file find what every system has.
    mkdirSync(join(root, "tmp"), { mode: 0o1777 });
    const archive = join(tmpdir(), `${basename(root)}.tar`);
    try {
      execFileSync("tar", ["--create", "--file", archive, "--directory", root, "."]);
      const changes = [
        'CMD ["redis-server", "--protected-mode", "no"]',
        "ENV PATH=/usr/local/bin",
        "WORKDIR /data",
        "VOLUME /data",
        "EXPOSE 6379",
      ].flatMap((change) => ["--change", change]);
      execFileSync("docker", ["import", ...changes, archive, name], { stdio: ["ignore", "ignore", "pipe"] });
    } finally {
      rmSync(archive, { force: true });
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  return name;
}

/** The libraries that a program loads, the loader included, as `ldd` lists them (glibc and musl). */
function librariesOf(binary: string): string[] {
  const listing = execFileSync("ldd", [binary], { encoding: "utf8" });
  return [...listing.matchAll(/(\/\S+) \(0x/g)].map((match) => match[1] as string);
}

function copyInto(root: string, from: string, to: string): void {
  const target = join(root, to);
  mkdirSync(dirname(target), { recursive: true });
  copyFileSync(realpathSync(from), target);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  console.log(makeLocalImage(process.argv[2]));
}
