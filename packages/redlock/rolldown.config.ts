/// <reference types="node" />

import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig, type Plugin } from "rolldown";
import { entries } from "./entries.js";

// The published modules: CommonJS, one for each subpath, and one that those share, so that all have the same classes. It is
// the number of files that an import costs. The target is es2022, which Jest and older bundlers parse.
//
// The code is published once. `import` leads to a module of one line that exports the names of the CommonJS module, so a
// program that uses `import` and `require` has one copy of each class. Names and lines stay as they are written and each part
// is headed by the path of its source: a stack trace can be read without a source map, which would be as large as the rest.

/** The default export of `.`, which an ES module can import from a CommonJS module only by its name. */
const defaultExport = "Redlock";

/** The licence of a bundled package asks to be published beside it. */
const licence: Plugin = {
  name: "licence",
  generateBundle() {
    const file = new URL("node_modules/tinyqueue/LICENSE", import.meta.url);
    this.emitFile({ type: "asset", fileName: "tinyqueue.LICENSE", source: readFileSync(file, "utf8") });
  },
};

/** Writes the ES modules, and their declarations, which are those of the CommonJS modules as well. */
const modules: Plugin = {
  name: "modules",
  writeBundle({ dir }, bundle) {
    const folder = join(dir!, "../esm");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    for (const chunk of Object.values(bundle)) {
      if (chunk.type !== "chunk" || !chunk.isEntry) continue;
      const from = `from "../cjs/${chunk.fileName}";\n`;
      const names = chunk.exports.filter((name) => name !== "default");
      const standard = chunk.exports.includes("default")
        ? `export { ${defaultExport} as default } ${from}`
        : "";
      writeFileSync(join(folder, `${chunk.name}.js`), `export { ${names.join(", ")} } ${from}${standard}`);
      writeFileSync(join(folder, `${chunk.name}.d.ts`), `export * ${from}${standard}`);
    }
  },
};

export default defineConfig({
  input: entries,
  platform: "node",
  resolve: { mainFields: ["module", "main"] },
  transform: { target: "es2022" },
  plugins: [licence, modules],
  output: {
    dir: "dist/cjs",
    cleanDir: true,
    format: "cjs",
    strict: true,
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name].cjs",
    // Code that two subpaths share is one file: each further one costs an import 2 ms.
    codeSplitting: { groups: [{ name: "redlock", minShareCount: 2 }] },
    // Bundlers read the annotations; people read the declarations.
    comments: { annotation: true, legal: true, jsdoc: false },
    exports: "named",
  },
});
