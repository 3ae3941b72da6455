import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { commandFrom, UsageError } from "./arguments.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));

function sim(...args: readonly string[]): {
  status: number | null;
  lines: readonly string[];
  errors: string;
} {
  const node = ["--import", "tsx", "--conditions=quorlock-source", main, ...args];
  const { status, stdout, stderr } = spawnSync(process.execPath, node, { encoding: "utf8" });
  return { status, lines: stdout.trim().split("\n"), errors: stderr };
}

describe("the command line", () => {
  test("run: the last lines tell seed, verdict and hash, the same on both engines", () => {
    const first = sim("run", "--seed", "6");
    expect(first.lines.slice(-3)).toEqual([
      "seed 6",
      "verdict ok",
      expect.stringMatching(/^hash [0-9a-f]{16}$/) as string,
    ]);
    expect(first.status).toBe(0);
    expect(sim("run", "--seed", "6", "--engine", "heap").lines.at(-1)).toBe(first.lines.at(-1));
  });

  test("explore: counts, and says what was never reached", () => {
    const { status, lines } = sim("explore", "--seeds", "3");
    expect(lines.slice(-2)).toEqual(["seeds 1 to 3: 0 violated, 0 unknown", "verdict ok"]);
    expect(status).toBe(0);
  });

  test("bad usage is exit 64, with what is wrong and how it is right", () => {
    const { status, errors } = sim("run", "--seed", "x");
    expect(status).toBe(64);
    expect(errors).toContain("--seed must be a whole number");
    expect(errors).toContain("Usage:");
  });
});

test.each([
  [[]],
  [["fly"]],
  [["run"]],
  [["run", "--seed"]],
  [["run", "--seed", "-1"]],
  [["run", "--seed", "1.5"]],
  [["run", "--seed", "99999999999999999999"]],
  [["run", "--seed", "1", "--engine", "steam"]],
  [["run", "--seed", "1", "--colour", "red"]],
  [["run", "1"]],
  [["explore", "--seeds", "0"]],
])("bad usage: %j", (args) => {
  expect(() => commandFrom(args)).toThrow(UsageError);
});
