import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { builtEntry } from "../contenders/ours.ts";
import { spreadOf } from "../measure/statistics.ts";
import { figure } from "../report/table.ts";
import type { Workload } from "../workload.ts";

const run = promisify(execFile);

/** The size of the built package, and the time to load it as an ES module and as CommonJS. */
export const importTime: Workload = {
  name: "import",
  async run(_masters, scale) {
    const commonjs = fileURLToPath(new URL("../cjs/index.cjs", builtEntry));
    const ways = [
      { name: "import", program: `await import(${JSON.stringify(builtEntry)})` },
      { name: "require", program: `createRequire("/")(${JSON.stringify(commonjs)})` },
      // It is subtracted from the others.
      { name: "an empty module", program: 'await import("data:text/javascript,")' },
    ].map((way) => ({ ...way, times: [] as number[] }));
    const processes = scale.quick ? 5 : 21;
    for (let at = 0; at < processes; at += 1) {
      for (const { program, times } of ways) times.push(await timeToRun(program));
    }
    const empty = ways.at(-1)!.times;
    const { files, bytes, gzipped } = await sizeOf(new URL("../cjs/", builtEntry));
    return {
      tables: [
        {
          title: "Time to import the built package in a new process",
          columns: ["", "ms", "95 %"],
          rows: ways.map(({ name, times }) => rowOf(name, times)),
          notes: [
            `${processes} processes each. All subpaths: ${files} files, ${figure(bytes / 1000)} kB, ${figure(gzipped / 1000)} gzipped.`,
          ],
        },
      ],
      goals: ways.slice(0, -1).map(({ name, times }) => {
        const over = spreadOf(times.map((one, at) => one - empty[at]!));
        return {
          name: `${name}: over an empty module`,
          measured: over.median,
          spread: over,
          limit: 15,
          unit: "ms",
        };
      }),
    };
  },
};

function rowOf(name: string, values: readonly number[]): readonly string[] {
  const { median, low, high } = spreadOf(values);
  return [name, figure(median), `${figure(low)}..${figure(high)}`];
}

async function sizeOf(folder: URL): Promise<{ files: number; bytes: number; gzipped: number }> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".cjs"));
  const texts = await Promise.all(names.map((name) => readFile(new URL(name, folder))));
  const all = Buffer.concat(texts);
  return { files: names.length, bytes: all.length, gzipped: gzipSync(all, { level: 9 }).length };
}

/** The duration of `program` in a new process, ms, by that process's own clock. */
async function timeToRun(program: string): Promise<number> {
  const timed = `
    import { createRequire } from "node:module";
    const begun = performance.now();
    ${program};
    console.log(performance.now() - begun);
  `;
  // The process runs without our own flags, which load a compiler.
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", timed], { env });
  return Number(stdout);
}
