import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { describe, expect, test } from "vitest";

/** Runs a command of this folder. */
function command(file: string, args: readonly string[], interruptAt?: RegExp): Promise<Ending> {
  return runProgram(new URL(file, import.meta.url), args, { interruptAt });
}

const conformance = "conformance/main.ts";
const bench = "../packages/bench/src/main.ts";
const site = "../packages/site/src/main.ts";

describe("--help explains each option", () => {
  test.each([
    [conformance, /--only TEXT .*--peers /s],
    [bench, /--only NAME\[,NAME\] .*--cycles N /s],
    [site, /--build .*--port N /s],
  ])("%s", async (file, help) => {
    const { code, output } = await command(file, ["--help"]);
    expect(code).toBe(0);
    expect(output).toMatch(help);
  });
});

describe("bad usage is exit 64, with the correction and no stack trace", () => {
  test.each([
    [conformance, ["--per"], "unknown option --per; did you mean --peers?"],
    [conformance, ["--peers", "redlock5"], 'unknown library "redlock5": did you mean "redlock-5"?'],
    [conformance, ["--only", "no such case at all"], 'no case is named "no such case at all"'],
    [site, ["--bild"], "unknown option --bild; did you mean --build?"],
    [site, ["--port", "x"], "--port must be a whole number up to 65535, but is x"],
    [bench, ["--cycle", "5"], "unknown option --cycle; did you mean --cycles?"],
    [bench, ["--only", "lod"], '--only: unknown workload "lod": did you mean "load"?'],
  ])("%s %j", async (file, args, message) => {
    const { code, errors } = await command(file, args);
    expect(errors).toContain(message);
    expect(errors).not.toMatch(/^ {4}at /m);
    expect(code).toBe(64);
  });
});

describe("Ctrl-C prints the results so far, and exits with 130", () => {
  test("conformance", async () => {
    const { code, output } = await command(conformance, [], /conforms .*\d+\.\d+ /);
    expect(output).toMatch(/^interrupted after [1-9]\d* of \d+ results, which are listed above$/m);
    expect(code).toBe(130);
  }, 120_000);
});
