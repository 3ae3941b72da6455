import { setTimeout as pause } from "node:timers/promises";
import type { Contender } from "../contenders/contender.ts";
import { openContender } from "../contenders/lineup.ts";
import { sharedNow, untilShared } from "../measure/shared-clock.ts";
import { heard, task, tell } from "../processes/program.ts";
import type { Grant, WorkerReport, WorkerStart, WorkerTask } from "./messages.ts";

// One process of a contest for a hot key: some workers, each of which wants the lock, holds it for a moment, gives it
// back and wants it again. It reports when the time is up, and ends, whoever still waits.

const { contender: name, terms, resource, workers, hold } = task() as WorkerTask;
const warmUps = 5;

const contender = await openContender(name, terms);
for (let index = 0; index < warmUps; index += 1) {
  const release = await contender.acquire(`${resource}:warm-up:${process.pid}`);
  await release();
}
await tell({ kind: "ready" });
const { begin, from, until } = (await heard()) as WorkerStart;

const grants: Grant[] = [];
/** When each worker that waits now began to. */
const waitingSince = new Map<number, number>();
let failures = 0;

async function work(contender: Contender, worker: number): Promise<void> {
  while (sharedNow() < until) {
    const called = sharedNow();
    waitingSince.set(worker, called);
    let release: Awaited<ReturnType<Contender["acquire"]>>;
    try {
      release = await contender.acquire(resource);
    } catch {
      failures += 1;
      continue;
    }
    const granted = sharedNow();
    waitingSince.delete(worker);
    const grant: Grant = { worker, called, granted, releasing: undefined };
    grants.push(grant);
    await pause(hold);
    grant.releasing = sharedNow();
    try {
      await release();
    } catch {
      failures += 1;
    }
  }
}

await pause(untilShared(begin));
for (let worker = 0; worker < workers; worker += 1) void work(contender, worker);
await pause(untilShared(from));
const before = process.cpuUsage();
await pause(untilShared(until));
const { user, system } = process.cpuUsage(before);
const report: WorkerReport = {
  kind: "report",
  clientCpu: user + system,
  grants,
  waiting: [...waitingSince.values()],
  failures,
};
await tell(report);
process.exit();
