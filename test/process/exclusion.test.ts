import { runProgram } from "@quorlock/simulation/processes";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { bundled } from "./bundled.ts";
import { type Counted, type CountingTask, counter } from "./counting.ts";

// PROTOCOL 1.9.

const workers = 3;
const rounds = 25;

const program = await bundled(new URL("counting-threads.ts", import.meta.url));

it("worker threads exclude each other, lose no update, and exit", async () => {
  await using masters = await startMasters(3, { say: () => {} });
  const task: CountingTask = { urls: masters.urls, rounds };
  const { code, output, errors } = await runProgram(program, [`${workers}`, JSON.stringify(task)]);
  expect(errors).toBe("");
  expect(code).toBe(0);
  const told = JSON.parse(output) as Counted[];
  expect(told).toEqual(Array.from({ length: workers }, () => ({ intrusions: 0 })));
  const store = new Redis(masters.urls[0]!);
  expect(Number(await store.get(counter))).toBe(workers * rounds);
  store.disconnect();
});
