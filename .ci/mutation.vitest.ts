import { defineConfig } from "vitest/config";

// The unit tests beside the sources that `pnpm mutation` changes. Those of the other packages would load the client from its
// real folder, which has no mutants.

const conditions = ["quorlock-source", "node", "import", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/redlock/src/{protocol,waiting,holding,redis,safeguards}/**/*.test.ts"],
    exclude: ["**/*.deep.test.ts", "**/node_modules/**"],
    isolate: false,
    // Stryker starts several of these.
    maxWorkers: 1,
    testTimeout: 60_000,
  },
});
