import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

// `pnpm --filter @quorlock/simulation run viewer`: makes pictures/viewer-bundle.ts out of pictures/viewer/, so that `timeline()` is a
// plain function of text and runs in a browser too. A test holds that what is committed is what this makes.

const target = fileURLToPath(new URL("../pictures/viewer-bundle.ts", import.meta.url));

/** The page's script and style sheet, as the text of a module. */
export async function bundledViewer(): Promise<string> {
  const [script, style] = await Promise.all([
    bundled("../pictures/viewer/main.ts", "iife"),
    bundled("../pictures/viewer/style.css", undefined),
  ]);
  return `// Made from viewer/ by cli/bundle-viewer.ts: edit those, then \`pnpm --filter @quorlock/simulation run viewer\`.

export const viewerScript: string = String.raw\`${raw(script)}\`;

export const viewerStyle: string = \`${raw(style)}\`;
`;
}

export function committedViewer(): Promise<string> {
  return readFile(target, "utf8");
}

async function bundled(file: string, format: "iife" | undefined): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(file, import.meta.url))],
    bundle: true,
    minify: true,
    write: false,
    charset: "ascii",
    target: "es2022",
    // They stand in a template literal themselves.
    supported: { "template-literal": false },
    lineLimit: 110,
    ...(format ? { format } : {}),
  });
  return outputFiles[0]!.text;
}

/** Text that `String.raw` cannot hold is refused rather than changed. */
function raw(text: string): string {
  if (/`|\$\{/.test(text)) throw new Error("the bundle has a template literal: it cannot be kept in one");
  return text;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(target, await bundledViewer());
