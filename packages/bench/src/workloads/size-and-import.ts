import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { builtEntry } from "../contenders/built-package.ts";
import { summaryOf } from "../measure/statistics.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const source = fileURLToPath(new URL("../../../redlock/src/index.ts", import.meta.url));
const run = promisify(execFile);

/** What the core weighs in a bundle, its dependencies included, and what it takes to load. */
export const sizeAndImport: Workload = {
  name: "size-and-import",
  async run(_masters, scale) {
    const { minified, gzipped } = await bundleSize();
    const times: number[] = [];
    const empty: number[] = [];
    while (times.length < (scale.quick ? 5 : 21)) {
      // One takes its turn beside the other: what loading anything at all costs is not ours.
      empty.push(await importTime("data:text/javascript,"));
      times.push(await importTime(builtEntry));
    }
    const time = summaryOf(times);
    const nothing = summaryOf(empty);
    const over = summaryOf(times.map((one, at) => one - empty[at]!));
    return {
      tables: [
        {
          title: "Size of the core, ioredis left out",
          columns: ["", "bytes"],
          rows: [
            ["minified", `${minified}`],
            ["gzipped", `${gzipped}`],
          ],
        },
        {
          title: "Time to import the built package in a new process",
          columns: ["", "median ms", "p10..p90"],
          rows: [
            ["the package", figure(time.median), `${figure(time.p10)}..${figure(time.p90)}`],
            ["an empty module", figure(nothing.median), `${figure(nothing.p10)}..${figure(nothing.p90)}`],
            ["the one over the other", figure(over.median), `${figure(over.p10)}..${figure(over.p90)}`],
          ],
          notes: [`${time.count} processes each.`],
        },
      ],
      goals: [
        { name: "size: core, minified and gzipped", measured: gzipped / 1000, limit: 16, unit: "kB" },
        { name: "import: over an empty module", measured: over.median, limit: 15, unit: "ms" },
      ],
    };
  },
};

async function bundleSize(): Promise<{ minified: number; gzipped: number }> {
  const { outputFiles } = await build({
    entryPoints: [source],
    bundle: true,
    minify: true,
    platform: "node",
    target: "node20",
    format: "esm",
    external: ["ioredis"],
    legalComments: "none",
    write: false,
  });
  const code = outputFiles[0]!.contents;
  return { minified: code.length, gzipped: gzipSync(code, { level: 9 }).length };
}

/** How long `import` takes in a process that has loaded nothing yet, ms, by that process's own clock. */
async function importTime(url: string): Promise<number> {
  const program = `
    const begun = performance.now();
    await import(${JSON.stringify(url)});
    console.log(performance.now() - begun);
  `;
  // None of our own flags, which load a compiler: what is timed is a plain node.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { env });
  return Number(stdout);
}
