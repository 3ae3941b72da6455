import { runProgram } from "@quorlock/simulation/processes";
import { expect, test } from "vitest";

const main = new URL("main.ts", import.meta.url);

test("four instances run each tick once, by every scheduler, though one is killed", async () => {
  const { code, output } = await runProgram(main, ["--ticks", "9"]);
  const results = output.match(/9 ticks, .*/g) ?? [];
  expect(results, output).toHaveLength(4);
  for (const result of results)
    expect(result).toMatch(/^9 ticks, 9 runs \(.*\); 0 ran twice, 0 did not run$/);
  expect(output).toMatch(/clocks up to (1\.[5-9]|2\.\d) s apart/);
  expect(output).toContain("Dora, between two ticks");
  expect(code).toBe(0);
}, 300_000);

test("a scheduler that does not exist is refused with those that do", async () => {
  const { code, errors } = await runProgram(main, ["--schedulers", "at"]);
  expect(code).toBe(64);
  expect(errors).toContain('unknown scheduler "at": choose from node-cron, cron, croner, nest');
});
