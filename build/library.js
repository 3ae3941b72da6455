// `node ../../build/library.js` in a package: bundles what its package.json exports, as ES modules and as CommonJS, with
// declarations for each; and its programs. Its dependencies and peer dependencies stay imports; all else becomes part of it.
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, join } from "node:path";
import { rolldown } from "rolldown";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { commands, entries, manifest } from "./entries.js";

/** Another one than `dist` may be given, for tests: what is there needs no other package of this repository to be built. */
const given = process.argv[2];
const imported = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
  (name) => given === undefined || !name.startsWith("@quorlock/"),
);
/** Packages of this repository that are not published: they become part of it, types included. */
const included = Object.keys(manifest.devDependencies ?? {}).filter((name) => name.startsWith("@quorlock/"));

function isExternal(id) {
  return isBuiltin(id) || imported.some((name) => id === name || id.startsWith(`${name}/`));
}

/** Modules of the chunk of compiled scripts. It is large, and the same in both formats: ES modules import that of CommonJS. */
let scripts = [];

/** Where `published/` has a file of the same name, that one is published: it does without what is left out. */
const published = {
  name: "published",
  async resolveId(source, importer, options) {
    if (!importer || !source.startsWith(".")) return null;
    const resolved = await this.resolve(source, importer, { ...options, skipSelf: true });
    if (!resolved) return null;
    if (scripts.includes(resolved.id)) return { id: "../cjs/scripts.cjs", external: true };
    const other = join(dirname(resolved.id), "published", basename(resolved.id));
    return existsSync(other) ? other : resolved;
  },
};

/** The licence of each bundled package asks to be published beside it. */
const licences = {
  name: "licences",
  async generateBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((chunk) => chunk.moduleIds ?? []);
    const folders = modules.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]);
    for (const folder of new Set(folders.filter(Boolean))) {
      const name = folder.split("/node_modules/").at(-1).replace("/", "-").replace("@", "");
      const { license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
      const file = ["LICENSE", "LICENSE.md", "license"].find((one) => existsSync(join(folder, one)));
      const source = file ? await readFile(join(folder, file), "utf8") : `License: ${license}\n`;
      this.emitFile({ type: "asset", fileName: `${name}.LICENSE`, source });
    }
  },
};

/** Peers that may be missing, with their types. */
const optional = Object.keys(manifest.peerDependenciesMeta ?? {});

/**
 * A module that exports one class, as its default: `require` returns it, and `import` leads to the same copy. A compiler that
 * does not find the types of an optional peer takes them for `any`.
 */
async function publishOne(name, dir) {
  for (const [file, isRequired] of [
    [`cjs/${name}.d.cts`, true],
    [`esm/${name}.d.ts`, false],
  ]) {
    const text = await readFile(join(dir, file), "utf8");
    const declared = text.replace(/^import (\w+) from '([^']+)';$/gm, (line, as, from) => {
      if (!optional.includes(from)) return line;
      return `// @ts-ignore: it may be missing.\n${isRequired ? `import ${as} = require("${from}");` : line}`;
    });
    const exported = isRequired
      ? declared.replace(/^export \{ (\w+) as default \};$/m, "export = $1;")
      : declared;
    await writeFile(join(dir, file), exported);
  }
  await writeFile(join(dir, `esm/${name}.js`), `export { default } from "../cjs/${name}.cjs";\n`);
}

const isLibrary = Object.keys(entries).length > 0;
// The declarations of both formats are one bundle, since a second one would compile everything again.
const declarations = isLibrary
  ? await rollup({
      input: entries,
      external: isExternal,
      plugins: [
        dts({
          compilerOptions: { stripInternal: true, composite: false, incremental: false },
          includeExternal: included,
        }),
      ],
    })
  : undefined;
let required = [];
for (const format of isLibrary ? ["cjs", "esm"] : ["esm"]) {
  const [module, declaration] = format === "esm" ? [".js", ".d.ts"] : [".cjs", ".d.cts"];
  const dir = `${given ?? "dist"}/${format}`;
  // A command is run, and never required.
  const input = format === "esm" ? { ...entries, ...commands } : entries;
  const modules = await rolldown({
    input,
    platform: "node",
    external: isExternal,
    tsconfig: false,
    // Packages that are not published become part of it, from their sources.
    resolve: { conditionNames: ["quorlock-source", "node", "import", "default"] },
    transform: { target: "es2022" },
    plugins: [published, licences],
  });
  const { output } = await modules.write({
    dir,
    cleanDir: true,
    format,
    exports: "auto",
    entryFileNames: `[name]${module}`,
    chunkFileNames: `[name]${module}`,
    codeSplitting: { groups: [{ name: "scripts", test: /\/src\/lua\// }] },
    // Bundlers read the annotations; people read the declarations.
    comments: { annotation: true, legal: true, jsdoc: false },
  });
  await declarations?.write({
    dir,
    format: "esm",
    entryFileNames: `[name]${declaration}`,
    chunkFileNames: `[name]${declaration}`,
  });
  if (format === "esm") continue;
  required = output;
  scripts = output.find(({ name }) => name === "scripts")?.moduleIds ?? [];
}
for (const { isEntry, exports, name } of required)
  if (isEntry && exports.join() === "default") await publishOne(name, given ?? "dist");
