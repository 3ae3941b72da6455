import { defineConfig } from "rollup";
import { dts } from "rollup-plugin-dts";
import { entries } from "./entries.js";

// The published declarations, bundled as the modules are: what subpaths share is declared once, so that the `Lock` of one is
// the `Lock` of all. Declarations marked `@internal` are left out; `tsc -b` keeps it, for the other packages of the repository.

export default defineConfig({
  input: entries,
  plugins: [dts({ compilerOptions: { stripInternal: true, composite: false, incremental: false } })],
  output: {
    // Beside the modules: a compiler finds them by the name of the module, whatever its settings.
    dir: "dist/cjs",
    format: "esm",
    entryFileNames: "[name].d.cts",
    chunkFileNames: "[name].d.cts",
    manualChunks: (id, { getModuleInfo }) => (getModuleInfo(id)?.isEntry ? undefined : "redlock"),
  },
});
