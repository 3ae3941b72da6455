import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { describe, expect, it } from "vitest";
import { type Counted, type CountingTask, counter } from "./counting.ts";

const workers = 4;
const rounds = 25;

interface Ending {
  readonly code: number | null;
  readonly output: string;
  readonly complaints: string;
}

async function run(program: URL, task: CountingTask): Promise<Ending> {
  const source = ["--import", "tsx", "--conditions=quorlock-source"];
  const child = spawn(
    process.execPath,
    [...source, fileURLToPath(program), `${workers}`, JSON.stringify(task)],
    {
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  let complaints = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, output, complaints };
}

describe.concurrent("exclude each other, lose no update, and exit by themselves:", () => {
  it.each([
    ["the workers of a cluster", new URL("counting-cluster.ts", import.meta.url)],
    ["worker threads", new URL("counting-threads.ts", import.meta.url)],
  ])("%s", async (_, program) => {
    await using masters = await startMasters(3, { say: () => {} });
    const ending = await run(program, { urls: masters.urls, rounds });
    expect(ending.complaints).toBe("");
    expect(ending.code).toBe(0);
    const told = JSON.parse(ending.output) as Counted[];
    expect(told).toEqual(Array.from({ length: workers }, () => ({ intrusions: 0 })));
    const store = new Redis(masters.urls[0]!);
    expect(Number(await store.get(counter))).toBe(workers * rounds);
    store.disconnect();
  });
});
