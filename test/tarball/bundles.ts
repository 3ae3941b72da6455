import { execFile } from "node:child_process";
import { mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMasters } from "@quorlock/testbed";
import commonjs from "@rollup/plugin-commonjs";
import { nodeResolve } from "@rollup/plugin-node-resolve";
import { build, transform } from "esbuild";
import { type Plugin, rollup } from "rollup";
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

/** Of a function in one file, whose Redlocks wait for each other. Its masters have no script yet. */
function minifiedProgram(library: string, clientOf: string): string {
  return `
  import { Redlock } from "@quorlock/redlock";
  import * as library from ${JSON.stringify(fileURLToPath(import.meta.resolve(library)))};
  const clientOf = ${clientOf};
  async function main() {
    const [one, other] = [1, 2].map(() => new Redlock(process.env.MASTERS.split(",").map(clientOf)));
    await Promise.all([one.ready(), other.ready()]);
    const lock = await one.acquire("sale", 10_000);
    const waits = other.acquire("sale", 10_000, { waitTimeout: 30_000 });
    // On a quorum: the third master may have voted for the other.
    const isWaiting = async () => (await one.inspect("sale")).filter((it) => it.queueLength === 1).length > 1;
    while (!(await isWaiting()));
    await lock.extend(60_000);
    const extended = lock.remaining() > 30_000;
    const { outcome: released } = await lock.release();
    const { outcome: handedOn } = await (await waits).release();
    await Promise.all([one.quit(), other.quit()]);
    console.log(JSON.stringify({ extended, released, handedOn }));
  }
  main();`;
}

const ofIoredis = "(url) => new library.Redis(url)";
const ofNodeRedis = `(url) => {
  const client = library.createClient({ url });
  client.on("error", () => {});
  client.connect().catch(() => {});
  return client;
}`;
/** Each client library, and how a service makes a client of it. */
const libraries: readonly (readonly [library: string, clientOf: string])[] = [
  ["ioredis", ofIoredis],
  ["ioredis-5", ofIoredis],
  ["iovalkey", ofIoredis],
  ["redis", ofNodeRedis],
  ["redis-5", ofNodeRedis],
];

type Format = "esm" | "cjs";
/** With a client library of CommonJS left out, or with everything inside and the names of its classes and variables short. */
type Bundle = (entry: string, outfile: string, format: Format, minify?: boolean) => Promise<void>;

/** The fields of a package's own manifest. */
const json: Plugin = {
  name: "json",
  transform: (code, id) => (id.endsWith(".json") ? `export default ${code}` : undefined),
};
const minifier: Plugin = { name: "minifier", renderChunk: (code) => transform(code, { minify: true }) };

/** As each is set up for Node. */
const bundlers: Readonly<Record<string, Bundle>> = {
  async esbuild(entry, outfile, format, minify = false) {
    const external = minify ? [] : ["ioredis"];
    await build({ entryPoints: [entry], outfile, format, bundle: true, platform: "node", external, minify });
  },
  async webpack(entry, outfile, format, minify = false) {
    const [path, filename] = [join(outfile, ".."), outfile.slice(join(outfile, "..").length + 1)];
    const type = format === "esm" ? "module" : "commonjs2";
    const compiler = webpack({
      entry,
      mode: "production",
      target: "node20",
      experiments: { outputModule: format === "esm" },
      externalsType: format === "esm" ? "module" : "commonjs2",
      externals: minify ? {} : { ioredis: "ioredis" },
      output: { path, filename, library: { type } },
    });
    const bundled = promisify(compiler.run.bind(compiler));
    const stats = await bundled();
    expect(stats?.compilation.errors).toEqual([]);
  },
  async rollup(input, file, format, minify = false) {
    const external = minify ? [] : ["ioredis"];
    const plugins = [nodeResolve({ preferBuiltins: true }), json, withCommonjs()];
    // It would warn of circular imports within the client libraries.
    const bundle = await rollup({ input, external, plugins, logLevel: "silent" });
    await bundle.write({ file, format, plugins: minify ? [minifier] : [] });
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

    // The others take half a minute with some of them.
    const minified = libraries.flatMap(([library, clientOf], index) =>
      Object.keys(bundlers)
        .filter((name) => name === "esbuild" || index % 2 === 1)
        .map((name) => [library, name, clientOf] as const),
    );
    test.each(minified)(
      "with %s inside, minified by %s, locks, waits, extends and releases",
      async (...of) => {
        const [library, name, clientOf] = of;
        const source = join(folderOf(), `user/minified-${library}.mjs`);
        await writeFile(source, minifiedProgram(library, clientOf));
        const file = join(alone, `minified-${library}-${name}.cjs`);
        await bundlers[name]!(source, file, "cjs", true);
        await using masters = await startMasters(3, { say: () => {} });
        const env = { ...userEnvironment, MASTERS: masters.urls.join(",") };
        const { stdout } = await run(process.execPath, [file], { env, timeout: 60_000 });
        expect(JSON.parse(stdout)).toEqual({ extended: true, released: "released", handedOn: "released" });
      },
    );
  });
}
