import { readFileSync } from "node:fs";
import { basename, join } from "node:path";

/** The package.json of the package that is built: it is the folder that its scripts run in. */
export const manifest = JSON.parse(readFileSync(join(process.cwd(), "package.json"), "utf8"));

/** package.json says what is built: the source of each published module, by name. */
export const entries = Object.fromEntries(
  Object.values(manifest.exports)
    .filter((entry) => entry.import)
    .map((entry) => [basename(entry.import.default, ".js"), entry["quorlock-source"]]),
);

/** The programs of the package and their threads, by name; package.json has them under `quorlockPrograms`. */
export const commands = manifest.quorlockPrograms ?? {};
