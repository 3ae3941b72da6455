import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Viewer } from "../pictures/timeline.ts";

let bundled: Promise<Viewer> | undefined;

/** The script and the style sheet of a run's page, bundled from pictures/viewer/ at the first call. */
export function viewer(): Promise<Viewer> {
  bundled ??= bundle();
  return bundled;
}

async function bundle(): Promise<Viewer> {
  const [script, style] = await Promise.all([
    textOf("../pictures/viewer/main.ts", "iife"),
    textOf("../pictures/viewer/style.css", undefined),
  ]);
  return { script, style };
}

async function textOf(file: string, format: "iife" | undefined): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    charset: "ascii",
    target: "es2022",
    ...(format ? { format } : {}),
  });
  return outputFiles[0]!.text;
}
