import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { startMasters } from "@quorlock/testbed";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { until } from "../contract/until.ts";
import type { FencingTask } from "./fencing-worker.ts";

const program = fileURLToPath(new URL("fencing-worker.ts", import.meta.url));
const source = ["--import", "tsx", "--conditions=quorlock-source"];
const grants = 1000;
const record = { holds: "holds", latest: "latest", inversions: "inversions" };
const minute = 60_000;

/** Runs a worker; resolves to its exit code and what it complained of. */
function run(task: FencingTask): { child: ChildProcess; ended: Promise<unknown> } {
  const child = spawn(process.execPath, [...source, program, JSON.stringify(task)], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  let complaints = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complaints += text;
  });
  const ended = new Promise((resolve) => child.once("close", (code) => resolve({ code, complaints })));
  return { child, ended };
}

it("tokens grow over a thousand holds of several processes, while masters are restarted one after the other", async () => {
  // Each write is on disk before it is answered: no master forgets one.
  const config = ["--appendonly", "yes", "--appendfsync", "always"];
  await using masters = await startMasters(3, { config, say: () => {} });
  await using elsewhere = await startMasters(1, { say: () => {} });
  const store = new Redis(elsewhere.urls[0]!);
  const task = { urls: masters.urls, store: elsewhere.urls[0]!, resource: "fenced", grants, record };
  // One has a clock that is a minute behind the others', one is a minute ahead.
  const workers = [0, 0, -minute, minute].map((clockOffset) => run({ ...task, clockOffset }));
  try {
    for (let restarts = 1; restarts <= 6; restarts += 1) {
      const due = (restarts * grants) / 8;
      await until(
        () => `${due} holds`,
        async () => Number(await store.get(record.holds)) >= due,
        60_000,
      );
      await masters.list[restarts % 3]!.kill();
      await masters.list[restarts % 3]!.restart();
    }
    const endings = await Promise.all(workers.map(({ ended }) => ended));
    expect(endings).toEqual(workers.map(() => ({ code: 0, complaints: "" })));
    expect(await store.lrange(record.inversions, 0, -1)).toEqual([]);
    expect(Number(await store.get(record.holds))).toBeGreaterThanOrEqual(grants);
  } finally {
    for (const { child } of workers) child.kill("SIGKILL");
    store.disconnect();
  }
}, 180_000);
