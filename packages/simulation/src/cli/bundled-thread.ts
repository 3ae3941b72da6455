import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build, type Plugin } from "esbuild";

/** The code of a worker thread. */
export interface Thread {
  readonly filename: string;
  /** No thread runs it any more. */
  end(): Promise<void>;
}

/** Loaded by the few threads that make a mutant. */
const compilers = /^(esbuild|@typescript\/typescript6)$/;

/** Files that are read at run time lie beside the source, and not beside the bundle. */
const besideSources: Plugin = {
  name: "beside sources",
  setup(builder) {
    const { resolve } = createRequire(import.meta.url);
    builder.onResolve({ filter: compilers }, ({ path }) => ({
      path: pathToFileURL(resolve(path)).href,
      external: true,
    }));
    builder.onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const url = JSON.stringify(pathToFileURL(path).href);
      return { contents: text.replaceAll(/\bimport\.meta\.url\b/g, url), loader: "ts" };
    });
  },
};

/** What threads run, in one file for all of them: to transpile each file in each thread takes ten times as long to load. */
export async function bundledThread(): Promise<Thread> {
  const folder = await mkdtemp(join(tmpdir(), "quorlock-sim-"));
  await build({
    entryPoints: [fileURLToPath(new URL("trial-worker.ts", import.meta.url))],
    bundle: true,
    // What is imported later stays in files of its own.
    splitting: true,
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    target: `node${process.versions.node}`,
    conditions: ["quorlock-source"],
    plugins: [besideSources],
  });
  return {
    filename: join(folder, "trial-worker.mjs"),
    end: () => rm(folder, { recursive: true }),
  };
}
