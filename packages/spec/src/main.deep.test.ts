import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { afterEach, expect, test, vi } from "vitest";

const main = new URL("main.ts", import.meta.url);

function spec(...args: string[]): Promise<Ending> {
  return runProgram(main, args);
}

afterEach(() => vi.unstubAllEnvs());

test("--help explains each option", async () => {
  const { code, output } = await spec("--help");
  expect(code).toBe(0);
  expect(output).toMatch(/--quick .*--only NAME .*--traces N .*--write /s);
});

test.each([
  [["--quik"], "unknown option --quik; did you mean --quick?"],
  [["--only", "Lok"], 'unknown module "Lok": did you mean "Lock"?'],
  [["--traces", "many"], "--traces must be a number from 1 to 999999, but is many"],
  [["--write", "--quick"], "--write writes the figures of a whole run"],
])("bad usage is exit 64, with the nearest name and no stack trace: %j", async (args, message) => {
  const { code, errors } = await spec(...args);
  expect(code).toBe(64);
  expect(errors).toContain(message);
  expect(errors).not.toMatch(/^ {4}at /m);
});

test("without the checker it says what is missing, and fails", async () => {
  vi.stubEnv("TLA2TOOLS", "/nowhere/tla2tools.jar");
  vi.stubEnv("REDLOCK_NO_INSTALL", "1");
  const { code, errors } = await spec("--quick");
  expect(code).toBe(2);
  expect(errors).toMatch(
    /java is not on the PATH, and REDLOCK_NO_INSTALL=1 forbids|TLA2TOOLS names \/nowhere/,
  );
});
