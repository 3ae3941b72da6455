import { fileURLToPath } from "node:url";
import { type Ended, runProgram } from "@quorlock/simulation/command-line";
import { expect, test } from "vitest";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

function models(args: readonly string[], interruptAt?: RegExp): Promise<Ended> {
  return runProgram(main, args, { interruptAt });
}

test("--help explains each option", async () => {
  const { status, output } = await models(["--help"]);
  expect(status).toBe(0);
  expect(output).toMatch(/--only NAME .*--deep .*--stories /s);
});

test.each([
  [["--storys"], "unknown option --storys; did you mean --stories?"],
  [["--only", "fencin-g"], 'unknown protocol "fencin-g": did you mean "fencing"?'],
  [["fencing"], "positional"],
])("bad usage is exit 64, with the nearest name and no stack trace: %j", async (args, message) => {
  const { status, errors } = await models(args);
  expect(status).toBe(64);
  expect(errors).toContain(message);
  expect(errors).not.toMatch(/^ {4}at /m);
});

test("Ctrl-C prints the number of searches so far, and exits with 130", async () => {
  const { status, output, errors } = await models([], /holds/);
  expect(status).toBe(130);
  expect(output).toMatch(/^interrupted after [1-9]\d* of \d+ searches, 0 of them FAILED$/m);
  expect(errors).toBe("");
}, 60_000);
