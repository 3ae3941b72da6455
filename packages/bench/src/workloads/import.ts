import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { builtEntry } from "../contenders/ours.ts";
import { spreadOf } from "../measure/statistics.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const run = promisify(execFile);

/** The size of the built package and the time to import it. */
export const importTime: Workload = {
  name: "import",
  async run(_masters, scale) {
    const times: number[] = [];
    const empty: number[] = [];
    while (times.length < (scale.quick ? 5 : 21)) {
      // The two alternate; the time to import an empty module is subtracted.
      empty.push(await timeToImport("data:text/javascript,"));
      times.push(await timeToImport(builtEntry));
    }
    const over = spreadOf(times.map((one, at) => one - empty[at]!));
    const { files, bytes, gzipped } = await sizeOf(new URL(".", builtEntry));
    return {
      tables: [
        {
          title: "Time to import the built package in a new process",
          columns: ["", "ms", "95 %"],
          rows: [rowOf("the package", times), rowOf("an empty module", empty)],
          notes: [
            `${times.length} processes each. All subpaths: ${files} files, ${figure(bytes / 1000)} kB, ${figure(gzipped / 1000)} gzipped.`,
          ],
        },
      ],
      goals: [
        { name: "import: over an empty module", measured: over.median, spread: over, limit: 15, unit: "ms" },
      ],
    };
  },
};

function rowOf(name: string, values: readonly number[]): readonly string[] {
  const { median, low, high } = spreadOf(values);
  return [name, figure(median), `${figure(low)}..${figure(high)}`];
}

async function sizeOf(folder: URL): Promise<{ files: number; bytes: number; gzipped: number }> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder))));
  const all = Buffer.concat(texts);
  return { files: names.length, bytes: all.length, gzipped: gzipSync(all, { level: 9 }).length };
}

/** The duration of `import` in a new process, ms, by that process's own clock. */
async function timeToImport(url: string): Promise<number> {
  const program = `
    const begun = performance.now();
    await import(${JSON.stringify(url)});
    console.log(performance.now() - begun);
  `;
  // The process runs without our own flags, which load a compiler.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program], { env });
  return Number(stdout);
}
