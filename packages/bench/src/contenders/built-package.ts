import { pathToFileURL } from "node:url";

type Package = typeof import("@quorlock/redlock");

/** The built entry file of `@quorlock/redlock`. */
export const builtEntry: string = new URL("../../../redlock/dist/index.js", import.meta.url).href;

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
  return (await import(
    new URL("packages/redlock/dist/index.js", pathToFileURL(`${folder}/`)).href
  )) as Package;
}
