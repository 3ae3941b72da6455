import { defineConfig } from "vitest/config";

// Tests and workers run the sources: no build stands between an edit and its test.
const source = { conditions: ["quorlock-source", "node", "import", "default"] };
const shared = { resolve: source, ssr: { resolve: source } };

export default defineConfig({
  test: {
    // Two cores: real masters, worker processes and the tests themselves share them.
    maxWorkers: 2,
    // The report is for `.ci/run`, which counts.
    reporters: ["default", ["json", { outputFile: "node_modules/.vitest-results.json" }]],
    projects: [
      {
        ...shared,
        // Some start processes of their own, which takes its time on a busy machine.
        test: {
          name: "unit",
          include: ["packages/*/src/**/*.test.ts", "examples/*.test.ts"],
          testTimeout: 30_000,
        },
      },
      {
        ...shared,
        test: {
          name: "integration",
          include: ["test/**/*.test.ts"],
          exclude: ["test/conformance/**", "**/node_modules/**"],
          testTimeout: 30_000,
          hookTimeout: 180_000,
        },
      },
      {
        ...shared,
        test: {
          name: "conformance",
          include: ["test/conformance/**/*.test.ts"],
          testTimeout: 60_000,
          hookTimeout: 180_000,
        },
      },
    ],
  },
});
