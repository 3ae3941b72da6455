import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

// `pnpm scripts`: writes the Lua scripts into the TypeScript files that are imported, one for each package. The .lua files of
// these folders are scripts; those in folders below are parts. A line `-- @include "part"` stands for the text of part.lua,
// whose path is that from the folder of the line. A part may be included more than once: a function that the frequent case
// does not need is defined where it is needed.

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The files that are written, each with the folders of its scripts. */
export const written: Readonly<Record<string, readonly string[]>> = {
  "packages/redlock/src/scripts.generated.ts": [
    "packages/redlock/src/redis/lua",
    "packages/redlock/src/owners",
  ],
  "packages/cli/src/scripts.generated.ts": [
    "packages/cli/src/doctor",
    "packages/cli/src/look",
    "packages/cli/src/release",
  ],
};

export interface Script {
  /** As it is exported: `voteBatchScript` for vote-batch.lua. */
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
}

/** The scripts in these folders of the repository, by name. */
export function scriptsIn(folders: readonly string[]): readonly Script[] {
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder)).map((file) => join(root, folder, file)),
  );
  const scripts = files.filter((file) => file.endsWith(".lua")).map(scriptOf);
  return scripts.sort((one, other) => (one.name < other.name ? -1 : 1));
}

function scriptOf(file: string): Script {
  const words = basename(file, ".lua").replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  const source = `${linesOf(file).join("\n")}\n`;
  return { name: `${words}Script`, source, sha1: createHash("sha1").update(source).digest("hex") };
}

/** The lines that the masters get: no comments but that for Dragonfly, no indentation. */
function linesOf(file: string): readonly string[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.flatMap((text) => {
    const line = text.trim();
    const [, part] = /^-- @include "(.+)"$/.exec(line) ?? [];
    if (part !== undefined) return linesOf(join(dirname(file), `${part}.lua`));
    const isComment = line.startsWith("--") && !line.startsWith("--!df ");
    return line === "" || isComment ? [] : [line];
  });
}

export function moduleOf(scripts: readonly Script[]): string {
  const head = `// Written by \`pnpm scripts\` from the .lua files.

/** A Lua script and its digest, by which a master that has cached it runs it. */
export interface Script {
  readonly source: string;
  /** SHA-1 of \`source\`. */
  readonly sha1: string;
}
`;
  const lines = scripts.map(
    ({ name, source, sha1 }) =>
      `export const ${name}: Script = { source: ${JSON.stringify(source)}, sha1: "${sha1}" };\n`,
  );
  return [head, ...lines].join("\n");
}

if (import.meta.filename === argv[1])
  for (const [file, folders] of Object.entries(written))
    writeFileSync(join(root, file), moduleOf(scriptsIn(folders)));
