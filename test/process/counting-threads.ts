import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { type Counted, type CountingTask, count } from "./counting.ts";

// Threads of one process: as many as it is told to, and then it says what each has told it.
if (isMainThread) {
  const [workers = "", task = ""] = process.argv.slice(2);
  const told = await Promise.all(
    Array.from({ length: Number(workers) }, () => {
      const worker = new Worker(new URL(import.meta.url), { workerData: JSON.parse(task) as CountingTask });
      return new Promise<Counted>((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
    }),
  );
  process.stdout.write(JSON.stringify(told));
} else {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has no origin
  parentPort!.postMessage(await count(workerData as CountingTask));
}
