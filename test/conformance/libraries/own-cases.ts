import type { Reporter, TestCase } from "vitest/node";
import { createVitest } from "vitest/node";
import { repositoryRoot } from "../processes/child.ts";

/** Runs the cases whose name contains `only` against this client, by the test suite. @returns the exit code. */
export async function runCases(
  only: string,
  onResult: (done: number, failed: number) => void,
): Promise<number> {
  let done = 0;
  let failed = 0;
  const counter: Reporter = {
    onTestCaseResult(test: TestCase) {
      const { state } = test.result();
      if (state === "skipped") return;
      done += 1;
      if (state === "failed") failed += 1;
      onResult(done, failed);
    },
  };
  const interrupts = process.listeners("SIGINT");
  const vitest = await createVitest("test", {
    root: repositoryRoot,
    project: ["deep"],
    watch: false,
    reporters: ["verbose", counter],
    ...(only === "" ? {} : { testNamePattern: only.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&") }),
  });
  // The runner's own listener would end the process before the summary is printed.
  for (const listener of process.listeners("SIGINT")) {
    if (!interrupts.includes(listener)) process.off("SIGINT", listener);
  }
  try {
    await vitest.start(["test/conformance/conformance.deep.test.ts"]);
    return vitest.state.getCountOfFailedTests() > 0 || done === 0 ? 1 : 0;
  } finally {
    await vitest.close();
  }
}
