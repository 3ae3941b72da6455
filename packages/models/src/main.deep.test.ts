import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

const main = new URL("main.ts", import.meta.url);

function models(args: readonly string[], interruptAt?: RegExp): Promise<Ending> {
  return runProgram(main, args, { interruptAt });
}

test("--help explains each option", async () => {
  const { code, output } = await models(["--help"]);
  expect(code).toBe(0);
  expect(output).toMatch(/--only NAME .*--deep .*--stories /s);
});

test.each([
  [["--storys"], "unknown option --storys; did you mean --stories?"],
  [["--only", "fencin-g"], 'unknown protocol "fencin-g": did you mean "fencing"?'],
  [["fencing"], "positional"],
])("bad usage is exit 64, with the nearest name and no stack trace: %j", async (args, message) => {
  const { code, errors } = await models(args);
  expect(code).toBe(64);
  expect(errors).toContain(message);
  expect(errors).not.toMatch(/^ {4}at /m);
});

test("Ctrl-C prints the number of searches so far, and exits with 130", async () => {
  const { code, output, errors } = await models([], /holds/);
  expect(code).toBe(130);
  expect(output).toMatch(/^interrupted after [1-9]\d* of \d+ searches, 0 of them FAILED$/m);
  expect(errors).toBe("");
}, 60_000);
