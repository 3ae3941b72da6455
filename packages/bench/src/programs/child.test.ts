import { expect, test } from "vitest";
import { startProgram } from "./child.ts";

test("the error of a program that fails includes its output", async () => {
  // The program fails on the unknown contender.
  const task = { contender: "unknown", terms: { urls: [], ttl: 1 }, prefix: "x", count: 1 };
  await using child = startProgram("worker", task);
  await expect(child.message("ready", 120_000)).rejects.toThrow(/ended before.*no contender "unknown"/s);
});
