import { once } from "node:events";
import { closeSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Redlock, ResourceLockedError } from "@quorlock/redlock";
import { Redis } from "ioredis";
import type { Task } from "./contention.ts";

// Contends with the client under test.
const task = JSON.parse(process.argv[2]!) as Task;
const clients = task.masters.map(({ host, port }) => new Redis(port, host));
await Promise.all(clients.map((client) => client.ping()));
const redlock = new Redlock(clients, { nodeTimeout: 1000, waitTimeout: 20_000 });
let grants = 0;
let overlaps = 0;

/** Whether no other process was inside. Reads the count, then writes it: without a lock, updates are lost. */
async function enterAndLeave(): Promise<boolean> {
  const marker = join(task.folder, "inside");
  const count = join(task.folder, "count");
  try {
    closeSync(openSync(marker, "wx"));
  } catch {
    return false;
  }
  const before = Number(readFileSync(count, "utf8"));
  await pause(2);
  writeFileSync(count, `${before + 1}`);
  rmSync(marker);
  return true;
}

console.log("ready");
await once(process.stdin, "data");
const end = performance.now() + task.duration;
while (performance.now() < end) {
  try {
    await using _ = await redlock.acquire(task.resource, task.ttl);
    grants += 1;
    if (!(await enterAndLeave())) overlaps += 1;
  } catch (error) {
    if (!(error instanceof ResourceLockedError)) throw error;
  }
  await pause(1 + Math.random() * 19);
}
console.log(JSON.stringify({ grants, overlaps }));
await redlock.quit();
