import { Worker } from "node:worker_threads";
import type { Counted } from "./counting.ts";

// Threads of one process: as many as it is told to, and then it says what each has told it.
const [workers = "", task = ""] = process.argv.slice(2);

const told = await Promise.all(
  Array.from({ length: Number(workers) }, () => {
    const worker = new Worker(new URL("counting-thread.mjs", import.meta.url), {
      workerData: JSON.parse(task),
    });
    return new Promise<Counted>((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
  }),
);
process.stdout.write(JSON.stringify(told));
