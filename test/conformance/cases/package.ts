import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { Child } from "@quorlock/simulation/processes";
import { type Case, verdict } from "../case.ts";
import type { Fixture } from "../fixture.ts";
import { inWords, outcomeOf } from "../outcome.ts";
import { endingInWords, endingOf, repositoryRoot } from "../processes/child.ts";

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
    async run(fixture) {
      const { packageName } = fixture.library;
      const failure = await buildOf(fixture, packageName);
      if (failure) return verdict(failure, { built: false });
      const { file, load } = loaders[how];
      const path = await written(
        fixture,
        file,
        `${load(packageName)}\n${fixture.library.program(fixture.urls(), fixture.resource)}`,
      );
      const end = await endingOf(run(fixture, process.execPath, [path], repositoryRoot));
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
    async run(fixture) {
      const { packageName } = fixture.library;
      const failure = await buildOf(fixture, packageName);
      if (failure) return verdict(failure, { built: false });
      const source = `import * as loaded from ${JSON.stringify(packageName)};\nexport type Types = typeof loaded;\n`;
      const path = await written(fixture, file, source);
      const flags = "--ignoreConfig --noEmit --strict --module nodenext --target es2022 --types node".split(
        " ",
      );
      const end = await endingOf(run(fixture, compiler, [...flags, path], repositoryRoot));
      return verdict(endingInWords(end), { accepted: end?.code === 0 });
    },
  };
}

function run(fixture: Fixture, command: string, args: readonly string[], cwd: string): Child {
  return fixture.use(new Child(command, args, { cwd }));
}

/** Packages are looked for from where the program is. */
async function written(fixture: Fixture, file: string, source: string): Promise<string> {
  await mkdir(join(testPackage, "dist"), { recursive: true });
  const directory = await mkdtemp(join(testPackage, "dist", "consumer-"));
  fixture.onDispose(() => rm(directory, { recursive: true, force: true }));
  const path = join(directory, file);
  await writeFile(path, source);
  return path;
}

/** Builds our own package (a peer comes built); what went wrong, or nothing. */
async function buildOf(fixture: Fixture, packageName: string): Promise<string | undefined> {
  if (packageName !== "@quorlock/redlock") return undefined;
  const built = await outcomeOf(() => run(fixture, "npm", ["run", "build"], client).ended, 60_000);
  if (built.kind !== "resolved") return `npm run build ${inWords(built)}`;
  const { code, output, errors } = built.value;
  return code === 0 ? undefined : `npm run build: ${`${output}${errors}`.slice(-300)}`;
}

/** The published package can be used as it is. */
export const packages: readonly Case[] = [
  loaded("require"),
  loaded("import"),
  typed("consumer.mts", "an ES module"),
  typed("consumer.cts", "a CommonJS module"),
];
