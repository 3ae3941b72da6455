import { rm } from "node:fs/promises";
import { defineConfig } from "rollup";
import { dts } from "rollup-plugin-dts";
import { entries } from "./entries.js";

// The published declarations, bundled as the modules are: what subpaths share is declared once, so that the `Lock` of one is
// the `Lock` of all. What is marked `@internal` is left out; `tsc -b` keeps it, for the other packages of the repository.

const dir = "dist/types";

export default defineConfig({
  input: entries,
  plugins: [
    { name: "clean", buildStart: () => rm(dir, { recursive: true, force: true }) },
    dts({
      sourcemap: true,
      // As if each stood beside its source: so the maps lead there.
      compilerOptions: { stripInternal: true, composite: false, incremental: false, outDir: "src" },
    }),
  ],
  output: {
    dir,
    format: "esm",
    entryFileNames: "[name].d.ts",
    chunkFileNames: "[name].d.ts",
    sourcemap: true,
  },
});
