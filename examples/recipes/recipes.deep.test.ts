import { runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

const main = new URL("main.ts", import.meta.url);

test("every recipe keeps its promise", async () => {
  const { code, output } = await runProgram(main);
  expect(code, output).toBe(0);
  expect(output.match(/result .*/g)).toHaveLength(6);
});

test("an unknown recipe is refused with the list of those that exist", async () => {
  const { code, errors } = await runProgram(main, ["no-such-recipe"]);
  expect(code).toBe(64);
  expect(errors).toContain("rate-limit, ");
});
