import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

type Package = typeof import("@quorlock/redlock");

/** The entry file of `@quorlock/redlock`: the built one, except for tests, which run sources. */
export const builtEntry: string = import.meta.resolve("@quorlock/redlock");

/**
 * What is measured is what users get: the built package, not its sources. The loader that runs TypeScript
 * sources gives every closure its name (`__name`), which costs time whenever one is made, and bare commands
 * make none.
 */
export const built: Package = (await import(builtEntry)) as Package;

/**
 * The built package of another checkout, named by `QUORLOCK_BEFORE`: what this one is compared with, in one process. Nothing
 * where none is named.
 */
export async function builtBefore(): Promise<Package | undefined> {
  const folder = process.env["QUORLOCK_BEFORE"];
  if (!folder) return undefined;
  const manifest = new URL("packages/redlock/package.json", pathToFileURL(`${folder}/`));
  // Where a build lies has changed, so it is asked for.
  const { exports } = JSON.parse(await readFile(manifest, "utf8")) as {
    exports: { ".": { default: string } };
  };
  return (await import(new URL(exports["."].default, manifest).href)) as Package;
}
