import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startMasters } from "@quorlock/testbed";
import { expect, it } from "vitest";
import type { Counts } from "./road-program.ts";

const run = promisify(execFile);
const program = fileURLToPath(new URL("./road-program.ts", import.meta.url));

/**
 * The counts of a lock alone today, with room for a straggler's answer: three functions, half a timer. One that
 * raises a bound is to say why.
 */
const bounds = {
  acquire: { functions: 123, files: 31 },
  release: { functions: 102, files: 23 },
  promises: 18,
  timers: 3.5,
};

it("one lock alone, without contention, enters and makes no more than it did", async () => {
  await using masters = await startMasters(5, { say: () => {} });
  const source = ["--import", "tsx", "--conditions=quorlock-source"];
  const { stdout } = await run(process.execPath, [...source, program, ...masters.urls]);
  const counts = JSON.parse(stdout) as Counts;
  console.log(`one acquire and release of 5 masters: ${stdout}`);
  for (const step of ["acquire", "release"] as const) {
    expect(counts[step].functions).toBeLessThanOrEqual(bounds[step].functions);
    expect(counts[step].files).toBeLessThanOrEqual(bounds[step].files);
  }
  expect(counts.promises).toBeLessThanOrEqual(bounds.promises);
  expect(counts.timers).toBeLessThanOrEqual(bounds.timers);
});
