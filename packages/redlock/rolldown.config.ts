import { readFile } from "node:fs/promises";
import { defineConfig, type Plugin } from "rolldown";
import { entries } from "./entries.js";

// The published modules: one for each subpath, and one that those share, so that all have the same classes. It is
// the number of files that an import costs. The target is es2022, which Jest and older bundlers parse.

/** The licence of a bundled package asks to be published beside it. */
const licence: Plugin = {
  name: "licence",
  async generateBundle() {
    const file = new URL("node_modules/tinyqueue/LICENSE", import.meta.url);
    this.emitFile({ type: "asset", fileName: "tinyqueue.LICENSE", source: await readFile(file, "utf8") });
  },
};

/** ES modules, and the same as CommonJS for loaders that cannot `require` an ES module, such as Jest's. */
const built = ["esm", "cjs"] as const;

export default built.map((format) =>
  defineConfig({
    input: entries,
    // For browsers as well: nothing of Node's is assumed.
    platform: "neutral",
    resolve: { mainFields: ["module", "main"] },
    transform: { target: "es2022" },
    plugins: format === "esm" ? [licence] : [],
    output: {
      dir: `dist/${format}`,
      cleanDir: true,
      format,
      entryFileNames: format === "esm" ? "[name].js" : "[name].cjs",
      chunkFileNames: format === "esm" ? "[name].js" : "[name].cjs",
      // Whatever two subpaths share is one file: each further one costs an import 2 ms.
      codeSplitting: { groups: [{ name: "redlock", minShareCount: 2 }] },
      // The maps hold the sources, which are not published beside them. Node loads the ES modules by `require` too; Jest,
      // which loads the others, reads no map of theirs.
      sourcemap: format === "esm",
      // Bundlers read the annotations; people read the declarations.
      comments: { annotation: true, legal: true, jsdoc: false },
      exports: "named",
    },
  }),
);
