import { argumentsOf, type Program, text } from "../packages/simulation/src/command-line/index.ts";
import { type Command, ended, ownTemporaryFolder } from "./programs.ts";

// The scripts of package.json that only start other programs, one after the other: `script.ts NAME ...`. All that is typed after
// the name goes to the last one, if it is an argument that is listed here: these programs do not say what they do not know.

interface Script extends Omit<Program, "usage" | "examples"> {
  readonly arguments?: string;
  /** All that is typed after the name. */
  readonly examples: readonly string[];
  readonly steps: readonly Command[];
}

const source = ["node", "--import", "tsx", "--conditions=quorlock-source"] as const;
const vitest = {
  arguments: "[PATH...] [--testNamePattern TEXT]",
  positionals: Number.POSITIVE_INFINITY,
  options: {
    testNamePattern: text("TEXT", "only tests whose names match"),
    maxWorkers: text("N", "so many files at a time"),
    "outputFile.json": text(
      "FILE",
      "the report for .ci/run; other options are those of: pnpm exec vitest run",
    ),
  },
  exit: "1 a test failed, 69 no Redis can be started",
};
const built = "redlock redlock-4 simulation testing opentelemetry express fastify nestjs".split(" ");
const bundles = built.flatMap((name) => ["--filter", `@quorlock/${name}`]);
const build: readonly Command[] = [
  ["tsc", "-b"],
  ["pnpm", "--silent", ...bundles, "--filter", "quorlock", "run", "build"],
];

const scripts: Readonly<Record<string, Script>> = {
  test: {
    ...vitest,
    about: "runs the tests that take no minute each, on real masters too: two to three minutes",
    examples: ["", " packages/redlock/src/protocol/round.test.ts"],
    steps: [
      [...source, "packages/testbed/src/servers/check.ts"],
      ["vitest", "run", "--project", "fast"],
    ],
  },
  "test:deep": {
    ...vitest,
    about: "runs searches, mutants, conformance, and what is published",
    examples: ["", " test/faults"],
    steps: [
      [
        "vitest",
        ..."run --project deep --project node-redis --project computing --project packages".split(" "),
        "--maxWorkers=3",
      ],
    ],
  },
  check: {
    about: "checks format, types and lint",
    examples: [""],
    exit: "1 a finding",
    steps: [
      ["biome", "check", "--error-on-warnings", "."],
      ["oxlint", "--type-aware", "--type-check", "--deny-warnings"],
    ],
  },
  format: {
    about: "formats all files, and mends what lint can mend",
    examples: [""],
    exit: "1 something is left to mend",
    steps: [["biome", "check", "--write", "."]],
  },
  build: {
    about: "writes dist of each package: modules and declarations",
    examples: [""],
    exit: "1 or 2 an error in the sources",
    steps: build,
  },
  api: {
    about: "builds, and writes packages/*/api/*.api.md: the public names and types",
    examples: [""],
    exit: "1 or 2 an error in the sources",
    steps: [...build, ["node", "--import", "tsx", "test/tarball/write-api-reports.ts"]],
  },
  scripts: {
    about:
      "writes the scripts.generated.ts of each package from its .lua files, and their JavaScript for simulated masters",
    examples: [""],
    steps: [
      ["node", "--import", "tsx", "test/architecture/scripts.ts"],
      [...source, "packages/simulation/src/lua/write-compiled-modules.ts"],
    ],
  },
  pictures: {
    about: "writes the pictures of quorlock inspect and serve into docs, by Chromium: a minute and a half",
    arguments: "[FOLDER]",
    positionals: 1,
    examples: ["", " /tmp/pictures"],
    exit: "1 no Chromium or no masters",
    steps: [
      [...source, "examples/pictures/main.ts"],
      [...source, "examples/pictures/incidents.ts"],
    ],
  },
};

const [name = ""] = process.argv.splice(2, 1);
const { steps, arguments: given, examples, ...script } = scripts[name]!;
argumentsOf({
  ...script,
  usage: given ? `${name} ${given}` : name,
  examples: examples.map((example) => `${name}${example}`),
});
const passedOn = process.argv.slice(2).filter((argument, index) => index > 0 || argument !== "--");
ownTemporaryFolder();
for (const [index, step] of steps.entries()) {
  const command: Command = index === steps.length - 1 ? [...step, ...passedOn] : step;
  console.log(`$ ${command.join(" ")}`);
  const { code } = await ended(command);
  if (code !== 0) process.exit(code ?? 1);
}
process.exit();
