import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const repository: string = resolve(import.meta.dirname, "../..");

interface Manifest {
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, { readonly import?: { readonly types: string } } | string>>;
}

export function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The folders of `packages` that are published. */
export const publishedPackages: readonly string[] = readdirSync(join(repository, "packages")).filter(
  (name) => manifestIn(join(repository, "packages", name)).private !== true,
);

/** Those that are imported; the others are programs. */
export const publishedLibraries: readonly string[] = publishedPackages.filter((name) =>
  Object.values(manifestIn(join(repository, "packages", name)).exports).some(
    (entry) => typeof entry !== "string",
  ),
);
