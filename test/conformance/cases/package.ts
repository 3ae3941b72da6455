import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Case, verdict } from "../case.ts";
import { inWords, outcomeOf } from "../outcome.ts";
import { Child, endingInWords, endingOf, repositoryRoot } from "../processes/child.ts";
import type { Stage } from "../stage.ts";

const testPackage = resolve(import.meta.dirname, "../..");
const compiler = join(repositoryRoot, "node_modules/.bin/tsc");
const client = join(repositoryRoot, "packages/redlock");

/** The same program for both ways to load a package. */
const loaders = {
  require: {
    file: "consumer.cjs",
    load: (name: string) => `const loaded = require(${JSON.stringify(name)});
const { Redis } = require("ioredis");`,
  },
  import: {
    file: "consumer.mjs",
    load: (name: string) => `import * as loaded from ${JSON.stringify(name)};
import { Redis } from "ioredis";`,
  },
};

function loaded(how: "require" | "import"): Case {
  return {
    row: 21,
    situation: `the built package is loaded with ${how} and locks`,
    bound:
      "a plain Node process, without this project's own resolution, loads it, locks, releases and exits with code 0",
    masters: 3,
    async run(stage) {
      const { packageName } = stage.library;
      const failure = await buildOf(stage, packageName);
      if (failure) return verdict(failure, { built: false });
      const { file, load } = loaders[how];
      const path = await written(
        stage,
        file,
        `${load(packageName)}\n${stage.library.program(stage.urls(), stage.resource)}`,
      );
      const end = await endingOf(Child.run(stage, process.execPath, [path], repositoryRoot));
      return verdict(endingInWords(end), {
        "exit code 0": end?.code === 0,
        "locked and released": end?.output.includes("locked and released") === true,
      });
    },
  };
}

function typed(file: "consumer.mts" | "consumer.cts", what: string): Case {
  return {
    row: 21,
    situation: `the types of the built package are found under NodeNext, from ${what}`,
    bound: "a file that imports it is accepted by the compiler: strict, module nodenext, and no path of ours",
    masters: 3,
    async run(stage) {
      const { packageName } = stage.library;
      const failure = await buildOf(stage, packageName);
      if (failure) return verdict(failure, { built: false });
      const source = `import * as loaded from ${JSON.stringify(packageName)};\nexport type Types = typeof loaded;\n`;
      const path = await written(stage, file, source);
      const flags = "--ignoreConfig --noEmit --strict --module nodenext --target es2022 --types node".split(
        " ",
      );
      const end = await endingOf(Child.run(stage, compiler, [...flags, path], repositoryRoot));
      return verdict(endingInWords(end), { accepted: end?.code === 0 });
    },
  };
}

/** Packages are looked for from where the program is. */
async function written(stage: Stage, file: string, source: string): Promise<string> {
  await mkdir(join(testPackage, "dist"), { recursive: true });
  const directory = await mkdtemp(join(testPackage, "dist", "consumer-"));
  stage.onDispose(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, file);
  await writeFile(path, source);
  return path;
}

/** Builds our own package (a peer comes built); what went wrong, or nothing. */
async function buildOf(stage: Stage, packageName: string): Promise<string | undefined> {
  if (packageName !== "@quorlock/redlock") return undefined;
  const built = await outcomeOf(() => Child.run(stage, "npm", ["run", "build"], client).ended, 60_000);
  if (built.kind !== "resolved") return `npm run build ${inWords(built)}`;
  return built.value.code === 0 ? undefined : `npm run build: ${built.value.output.slice(-300)}`;
}

/** The published package can be used as it is. */
export const packages: readonly Case[] = [
  loaded("require"),
  loaded("import"),
  typed("consumer.mts", "an ES module"),
  typed("consumer.cts", "a CommonJS module"),
];
