import { readFile } from "node:fs/promises";
import { defineConfig, type Plugin } from "rolldown";
import { entries } from "./entries.js";

// The published modules: one for each subpath, and one that those share, so that all have the same classes. It is
// the number of files that an import costs.

/** The licence of a bundled package asks to be published beside it. */
const licence: Plugin = {
  name: "licence",
  async generateBundle() {
    const file = new URL("node_modules/tinyqueue/LICENSE", import.meta.url);
    this.emitFile({ type: "asset", fileName: "tinyqueue.LICENSE", source: await readFile(file, "utf8") });
  },
};

export default defineConfig({
  input: entries,
  // For browsers as well: nothing of Node's is assumed.
  platform: "neutral",
  resolve: { mainFields: ["module", "main"] },
  transform: { target: "es2023" },
  plugins: [licence],
  output: {
    dir: "dist/esm",
    cleanDir: true,
    format: "esm",
    chunkFileNames: "[name].js",
    // Whatever two subpaths share is one file: each further one costs an import 2 ms.
    codeSplitting: { groups: [{ name: "redlock", minShareCount: 2 }] },
    sourcemap: true,
    // The sources are published too: the maps of the declarations lead to them as well.
    sourcemapExcludeSources: true,
  },
});
