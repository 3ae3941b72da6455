import { readFileSync } from "node:fs";

// package.json says what is built: each name that it exports, with its source and its module.

const { exports } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));

/** The source of each published module. */
export const entries = Object.fromEntries(
  Object.values(exports)
    .filter((entry) => typeof entry === "object")
    .map((entry) => [/([\w-]+)\.js$/.exec(entry.import.default)[1], entry["quorlock-source"]]),
);
