import { execFile } from "node:child_process";
import { mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMasters } from "@quorlock/testbed";
import commonjs from "@rollup/plugin-commonjs";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { build } from "esbuild";
import { rollup } from "rollup";
import { beforeAll, describe, expect, test } from "vitest";
import webpack from "webpack";
import { userEnvironment } from "./environment.ts";

// The packed package in a bundle of each bundler, which runs without the package.

const run = promisify(execFile);
/** Its types are those of CommonJS, where the function is `default`. */
const withCommonjs = commonjs as unknown as typeof commonjs.default;

/** Of a service: it takes its masters from the environment. */
const program = `
  import { Lock, Redlock, ResourceLockedError } from "@quorlock/redlock";
  import { Semaphore } from "@quorlock/redlock/semaphore";
  import { Redis } from "ioredis";
  async function main() {
    const redlock = new Redlock(process.env.MASTERS.split(",").map((url) => new Redis(url)));
    const lock = await redlock.acquire("sale", 10_000);
    const error = await redlock.acquire("sale", 10_000, { retryCount: 0 }).catch((reason) => reason);
    const permit = await new Semaphore(redlock, "permits", 1).acquire(10_000);
    const isOfOneClass = permit instanceof Lock;
    await permit.release();
    const { outcome } = await lock.release();
    await redlock.quit();
    console.log(JSON.stringify({ released: outcome, refused: error instanceof ResourceLockedError, isOfOneClass }));
  }
  main();`;

type Format = "esm" | "cjs";
type Bundle = (entry: string, outfile: string, format: Format) => Promise<void>;

/** As each is set up for Node. The client library, which is CommonJS, is left out by all. */
const bundlers: Readonly<Record<string, Bundle>> = {
  async esbuild(entry, outfile, format) {
    const external = ["ioredis"];
    await build({ entryPoints: [entry], outfile, format, bundle: true, platform: "node", external });
  },
  async webpack(entry, outfile, format) {
    const [path, filename] = [join(outfile, ".."), outfile.slice(join(outfile, "..").length + 1)];
    const type = format === "esm" ? "module" : "commonjs2";
    const compiler = webpack({
      entry,
      mode: "production",
      target: "node20",
      experiments: { outputModule: format === "esm" },
      externalsType: format === "esm" ? "module" : "commonjs2",
      externals: { ioredis: "ioredis" },
      output: { path, filename, library: { type } },
    });
    const bundled = promisify(compiler.run.bind(compiler));
    const stats = await bundled();
    expect(stats?.compilation.errors).toEqual([]);
  },
  async rollup(input, file, format) {
    const bundle = await rollup({ input, external: ["ioredis"], plugins: [nodeResolve(), withCommonjs()] });
    await bundle.write({ file, format });
    await bundle.close();
  },
};

export function bundlesSuite(folderOf: () => string): void {
  describe("a bundle", () => {
    let entry: string;
    let alone: string;

    beforeAll(async () => {
      entry = join(folderOf(), "user/service.mjs");
      await writeFile(entry, program);
      // The package is not found from here, only the client library.
      alone = join(folderOf(), "alone");
      await mkdir(join(alone, "node_modules"), { recursive: true });
      const ioredis = join(fileURLToPath(import.meta.resolve("ioredis/package.json")), "..");
      await symlink(ioredis, join(alone, "node_modules/ioredis"));
    });

    const cases = Object.keys(bundlers).flatMap((name) => [[name, "esm"] as const, [name, "cjs"] as const]);
    test.each(cases)("of %s, %s, locks", async (name, format) => {
      const file = join(alone, `${name}.${format === "esm" ? "mjs" : "cjs"}`);
      await bundlers[name]!(entry, file, format);
      const parts = (await readdir(alone)).filter(
        (part) => part.startsWith(name) && part.endsWith(file.slice(-4)),
      );
      expect(parts).toHaveLength(1);
      console.log(`${name}, ${format}: ${(await stat(file)).size} bytes`);
      await using masters = await startMasters(3, { say: () => {} });
      const { stdout } = await run(process.execPath, [file], {
        env: { ...userEnvironment, MASTERS: masters.urls.join(",") },
      });
      expect(JSON.parse(stdout)).toEqual({ released: "released", refused: true, isOfOneClass: true });
    });
  });
}
