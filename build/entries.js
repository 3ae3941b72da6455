import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The package.json of the package that is built: it is the folder that its scripts run in. */
export const manifest = JSON.parse(readFileSync(join(process.cwd(), "package.json"), "utf8"));

/** What is built, by name, is what package.json exports: the source of each published module. */
export const entries = Object.fromEntries(
  Object.values(manifest.exports)
    .filter((entry) => entry.import)
    .map((entry) => [/([\w-]+)\.js$/.exec(entry.import.default)[1], entry["quorlock-source"]]),
);
