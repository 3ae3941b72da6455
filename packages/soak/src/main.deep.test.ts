import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

const main = new URL("main.ts", import.meta.url);

function soak(
  args: readonly string[],
  options: { env?: Record<string, string>; interruptAt?: RegExp } = {},
): Promise<Ending> {
  return runProgram(main, args, options);
}

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
