type Package = typeof import("@quorlock/redlock");

/** The built entry file of `@quorlock/redlock`. */
export const builtEntry: string = new URL("../../redlock/dist/index.js", import.meta.url).href;

/**
 * What is measured is what users get: the built package, not its sources. The loader that runs TypeScript
 * sources gives every closure its name (`__name`), which costs time whenever one is made, and bare commands
 * make none.
 */
export const built: Package = (await import(builtEntry)) as Package;
