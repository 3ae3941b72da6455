import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { UsageError } from "../command-line/options.ts";
import { replayFileFrom } from "../plan/replay-file.ts";
import { scenarios as library } from "../scenarios/scenarios.ts";
import { exitCodes } from "./command.ts";
import { scenarios } from "./scenarios.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("one scenario, one seed: its outcomes, its story, and its plan in a file that replays", async () => {
  const directory = await mkdtemp(join(tmpdir(), "scenarios-"));
  try {
    const file = join(directory, "replay.json");
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    expect(await scenarios.run(["tie-of-four", "--seed", "3", "--save", file])).toBe(exitCodes.ok);
    const lines = log.mock.calls.map(([line]) => String(line));
    expect(lines[1]).toMatch(/^tie-of-four +safe +safe +hangs$/);
    expect(lines.at(-1)).toBe("1 of 1 as declared");
    const { plan } = library.find(({ name }) => name === "tie-of-four")!;
    expect(replayFileFrom(await readFile(file, "utf8")).plan).toEqual(plan(3));
  } finally {
    await rm(directory, { recursive: true });
  }
});

test.each([
  [["no-such-scenario"]],
  [["tie-of-four", "late-set"]],
  [["--seed", "-1"]],
  [["--seed", "x"]],
  [["--colour", "red"]],
  [["--write", "--seed", "1"]],
  [["tie-of-four", "--write"]],
  [["tie-of-four", "--save", "x.json"]],
])("bad usage: %j", async (args) => {
  await expect(scenarios.run(args)).rejects.toThrow(UsageError);
});
