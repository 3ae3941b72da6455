import { defineConfig } from "vitest/config";

// The unit tests of the client, for `pnpm mutation`. Those of the other packages would load the client from its real
// folder, which has no mutants.

const conditions = ["quorlock-source", "node", "import", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/redlock/src/**/*.test.ts"],
    // async-context.test.ts searches the text of the sources, which the mutants have changed.
    exclude: ["**/*.deep.test.ts", "**/async-context.test.ts", "**/node_modules/**"],
    isolate: false,
    // Stryker starts several of these.
    maxWorkers: 1,
    testTimeout: 60_000,
  },
});
