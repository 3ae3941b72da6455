import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// Tests and workers run the sources: no build stands between an edit and its test.
const source = { conditions: ["quorlock-source", "node"] };
const shared = { resolve: source, ssr: { resolve: source } };
const deep = "**/*.deep.test.ts";
/** Those that need the processor and neither masters nor a clock: beside them, tests of real time would come late. */
const computing = ["{packages/{simulation,site},test/{documents,simulation}}/**/*.deep.test.ts"];
const packages = ["test/tarball/**/*.deep.test.ts"];
/** Files and folders that wait for their turn: see `.ci/turns.ts`. */
const waiting = `{${process.env["CI_WAITING"]},none}{,/**/*}.deep.test.ts`;

/**
 * Only for a test that does not end: several times what the longest one takes on a busy machine, and in the file where one
 * takes longer. The promises of tests have limits of their own.
 */
const endedIn = (seconds: number): { testTimeout: number; hookTimeout: number } => ({
  testTimeout: seconds * 1000,
  hookTimeout: seconds * 1000,
});

/** Files that take a minute and more, the longest first. Begun last, each would run while the other cores have nothing left. */
const long = [
  "test/behaviours/",
  "site/src/site.deep",
  "tarball/tarball.deep",
  "search/guided.deep",
  "tarball/testing.deep",
  "run/run-plan.deep",
  "cli/cli.deep",
  "mutants/mutants.deep",
  "run/unviolated.deep",
];

function placeOf({ moduleId }: TestSpecification): number {
  const index = long.findIndex((name) => moduleId.includes(name));
  return index < 0 ? long.length : index;
}

/** Vitest's own order is by the size of a file where no earlier run is known, as in a clean clone. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // More than the cores of a small machine: most tests wait for real masters and real time. (`test:deep` takes one less.)
    maxWorkers: 4,
    // The report is for `.ci/run`, which counts.
    reporters: ["default", "json"],
    outputFile: { json: "node_modules/.vitest-results.json" },
    projects: [
      {
        ...shared,
        // `pnpm test`. Without a process for each file, since these tests leave nothing behind: a third of the time.
        test: {
          name: "fast",
          include: [
            ".ci/**/*.test.ts",
            "packages/*/src/**/*.test.ts",
            "examples/*.test.ts",
            "test/**/*.test.ts",
          ],
          exclude: [deep, "**/node_modules/**"],
          isolate: false,
          ...endedIn(30),
        },
      },
      {
        ...shared,
        // `pnpm test:deep`, too: what the fleets of these tests open are clients of node-redis. Left out are the tests of
        // what the client does once a command is sent, since the contract holds both libraries to send each one alike.
        test: {
          name: "node-redis",
          isolate: false,
          env: { REDLOCK_CLIENT: "node-redis" },
          include: ["test/integration/connections/**/*.test.ts", "test/{faults,hostile}/**/*.test.ts"],
          exclude: [
            "**/node_modules/**",
            "test/{faults,hostile}/**/*.deep.test.ts",
            // These open clients themselves, or are about what only ioredis has: an event of `select`.
            "test/integration/connections/{cluster,database}.test.ts",
            "test/integration/connections/{fake-sentinels,node-redis,ready,sentinel}.deep.test.ts",
          ],
          ...endedIn(30),
        },
      },
      {
        ...shared,
        // `pnpm test:deep`: what takes long by its nature.
        test: {
          name: "deep",
          include: [deep],
          exclude: [...computing, ...packages, waiting, "**/node_modules/**"],
          ...endedIn(60),
        },
      },
      {
        ...shared,
        // `pnpm test:deep`, when all others have ended: searches, which seeds bound, compilers and bundlers.
        test: {
          name: "computing",
          include: computing,
          exclude: [waiting, "**/node_modules/**"],
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          ...endedIn(600),
        },
      },
      {
        ...shared,
        // `pnpm test:deep`, too: what is published, packed once for all of these tests.
        test: {
          name: "packages",
          globalSetup: "test/tarball/packed.ts",
          include: packages,
          exclude: [waiting, "**/node_modules/**"],
          sequence: { groupOrder: 1 },
          maxWorkers: 2,
          ...endedIn(180),
        },
      },
    ],
  },
});
