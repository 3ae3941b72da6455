import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

const main = new URL("main.ts", import.meta.url);

function soak(
  args: readonly string[],
  options: { env?: Record<string, string>; interruptAt?: RegExp } = {},
): Promise<Ending> {
  return runProgram(main, args, options);
}

test("--help explains each option", async () => {
  const { code, output } = await soak(["--help"]);
  expect(code).toBe(0);
  expect(output).toMatch(/--minutes N .*--seed N .*--mode MODE .*--json FILE /s);
});

test.each([
  [["--minutes", "soon"], "--minutes must be a number"],
  [["--minuts", "1"], "unknown option --minuts; did you mean --minutes?"],
  [["--minutes", "1", "--mode", "unsave"], 'did you mean "unsafe"?'],
])("bad usage is exit 64, with the correction and no stack trace: %j", async (args, message) => {
  const { code, errors } = await soak(args);
  expect(errors).toContain(message);
  expect(errors).toContain("Usage:");
  expect(errors).not.toMatch(/^ {4}at /m);
  expect(code).toBe(64);
});

test("without masters it exits with 2 and the reason", async () => {
  const env = { REDLOCK_SOURCE: "REDLOCK_NODES", REDLOCK_NODES: "" };
  const { code, errors } = await soak(["--minutes", "1"], { env });
  expect(errors).toContain("no masters to be had");
  expect(code).toBe(2);
});

test("Ctrl-C prints the report so far, and exits with 130", async () => {
  const { code, output, errors } = await soak(["--minutes", "100"], {
    interruptAt: /workers at 5 masters/,
  });
  expect(output).toMatch(/^safe: .* grants, .*\ninterrupted: the report covers the run so far$/m);
  expect(errors).not.toMatch(/^ {4}at /m);
  expect(code).toBe(130);
}, 90_000);
